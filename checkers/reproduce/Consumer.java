// A member of a group, which subscribes to a topic. Each line of stdin is a command, and each
// command prints one line:
//
// poll
//     receives the next record: VALUE <tab> OFFSET, or an empty line after 90 s without a record
// output TOPIC VALUES OFFSET
//     sends the values (A,B,...) to the topic, and OFFSET as the committed offset of partition 0, in
//     a transaction: NONE, or the exception
//
// Arguments: SERVERS TOPIC NAME=VALUE..., where NAME is a setting of the consumer. Two more names
// are transactional.id, of the producer, and listener, which adds a ConsumerRebalanceListener.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Consumer {
    static final long WITHIN_MS = 90_000;
    static KafkaConsumer<String, String> consumer;
    static KafkaProducer<String, String> producer;
    static TopicPartition partition;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        for (String one : List.of(arguments).subList(2, arguments.length)) {
            String[] setting = one.split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Object transactionalId = settings.remove("transactional.id");
        boolean listens = settings.remove("listener") != null;
        partition = new TopicPartition(arguments[1], 0);
        consumer = new KafkaConsumer<>(settings);
        if (listens) {
            consumer.subscribe(List.of(arguments[1]), new Listener());
        } else {
            consumer.subscribe(List.of(arguments[1]));
        }
        if (transactionalId != null) {
            Properties producing = new Properties();
            producing.put("bootstrap.servers", arguments[0]);
            producing.put("transactional.id", transactionalId);
            producing.put("key.serializer", StringSerializer.class.getName());
            producing.put("value.serializer", StringSerializer.class.getName());
            producer = new KafkaProducer<>(producing);
            producer.initTransactions();
        }
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line; (line = lines.readLine()) != null; ) {
                String[] words = line.split(" ");
                System.out.println(words[0].equals("poll") ? poll() : output(words));
                System.out.flush();
            }
        }
    }

    static String poll() {
        long until = System.currentTimeMillis() + WITHIN_MS;
        while (System.currentTimeMillis() < until) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                return record.value() + "\t" + record.offset();
            }
        }
        return "";
    }

    static String output(String[] words) {
        try {
            producer.beginTransaction();
            for (String value : words[2].split(",")) {
                producer.send(new ProducerRecord<>(words[1], 0, null, value));
            }
            OffsetAndMetadata offset = new OffsetAndMetadata(Long.parseLong(words[3]));
            producer.sendOffsetsToTransaction(
                    Map.of(partition, offset), consumer.groupMetadata());
            producer.commitTransaction();
            return "NONE";
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName();
        }
    }

    /** Does nothing. With a listener, a consumer gives up its partitions during a poll only. */
    static class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
    }
}
