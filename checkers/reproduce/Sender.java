// Sends each line of stdin as a record to partition 0. A line is VALUE, or VALUE <tab> TIMESTAMP in
// ms since 1970. Prints each outcome as a line: VALUE <tab> ok <tab> OFFSET, or VALUE <tab> info
// <tab> ERROR. All settings are Kafka's defaults.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Sender {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("linger.ms", "0"); // a request for each record; the default before Kafka 4.0
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
                BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line; (line = lines.readLine()) != null; ) {
                String[] fields = line.split("\t");
                String sent = fields[0];
                Long timestamp = fields.length > 1 ? Long.valueOf(fields[1]) : null;
                producer.send(
                        new ProducerRecord<>(arguments[1], 0, timestamp, null, sent),
                        (metadata, error) -> {
                            String outcome =
                                    error == null ? "ok\t" + metadata.offset() : "info\t" + error;
                            System.out.println(sent + "\t" + outcome.replace('\n', ' '));
                            System.out.flush();
                        });
            }
        }
    }
}
