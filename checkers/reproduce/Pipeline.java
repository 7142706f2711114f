// An application that reads topic ARGUMENTS[1] in the group "g", and sends each record to the topic
// "out" in a transaction. Each line of stdin is a command, and each line of stdout is its result:
// "process" prints the value, and "offsets", "commit" and "close" print "done". A failed command
// prints the error. A request is sent again after 3 s without a response. All other settings that
// affect transactions are Kafka's defaults.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Pipeline {
    static final String OUT = "out";
    static KafkaConsumer<String, String> consumer;
    static KafkaProducer<String, String> producer;
    static boolean inTransaction = false;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", "g");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("session.timeout.ms", "6000"); // a killed instance leaves the group soon
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", "1");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of(arguments[1]));
        Properties sending = new Properties();
        sending.put("bootstrap.servers", arguments[0]);
        sending.put("transactional.id", "x");
        sending.put("request.timeout.ms", "3000");
        sending.put("key.serializer", StringSerializer.class.getName());
        sending.put("value.serializer", StringSerializer.class.getName());
        producer = new KafkaProducer<>(sending);
        producer.initTransactions();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String command; (command = lines.readLine()) != null; ) {
            System.out.println(result(command));
            System.out.flush();
        }
    }

    static String result(String command) {
        try {
            return switch (command) {
                case "process" -> process();
                case "offsets" -> {
                    producer.sendOffsetsToTransaction(positions(), consumer.groupMetadata());
                    yield "done";
                }
                case "commit" -> {
                    producer.commitTransaction();
                    inTransaction = false;
                    yield "done";
                }
                default -> {
                    consumer.close();
                    producer.close();
                    yield "done";
                }
            };
        } catch (RuntimeException error) {
            return error.toString().replace('\n', ' ');
        }
    }

    /** Reads the next record, and sends it to the topic "out" in the transaction. */
    static String process() {
        for (int attempt = 0; attempt < 120; attempt++) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                if (!inTransaction) {
                    producer.beginTransaction();
                    inTransaction = true;
                }
                producer.send(new ProducerRecord<>(OUT, record.value()));
                producer.flush();
                return record.value();
            }
        }
        return "no record";
    }

    static Map<TopicPartition, OffsetAndMetadata> positions() {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
        }
        return positions;
    }
}
