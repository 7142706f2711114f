package urteil.recorder;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A service with one producer and one consumer, recorded: {@code Trial SERVERS TOPIC PARTITIONS RECORDS FOLDER [ID]}. */
public final class Trial {
    private Trial() {}

    public static void main(String[] words) {
        String topic = words[1];
        int partitions = Integer.parseInt(words[2]);
        int records = Integer.parseInt(words[3]);
        Map<String, Object> common = Map.of("bootstrap.servers", words[0], "urteil.recorder.folder", words[4]);
        send(common, topic, partitions, records, words.length > 5 ? words[5] : null);
        poll(common, topic, partitions);
    }

    private static void send(Map<String, Object> common, String topic, int partitions, int records, String id) {
        Map<String, Object> settings = new HashMap<>(common);
        settings.put("interceptor.classes", "urteil.recorder.RecordSends");
        settings.put("max.block.ms", 5_000);
        if (id != null) {
            settings.put("transactional.id", id);
        }
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            if (id != null) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            for (int number = 0; number < records; number++) {
                producer.send(new ProducerRecord<>(topic, number % partitions, null, "the same value"));
                if (number % 10 == 9) {
                    producer.flush(); // so that there are many batches
                }
            }
            producer.send(new ProducerRecord<>(topic, 0, null, "x".repeat(2 << 20))); // too large
            if (id != null) {
                producer.abortTransaction();
            }
        }
    }

    private static void poll(Map<String, Object> common, String topic, int partitions) {
        Map<String, Object> settings = new HashMap<>(common);
        settings.put("interceptor.classes", "urteil.recorder.RecordPolls");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("group.id", "billing");
        settings.put("enable.auto.commit", false);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> all =
                    IntStream.range(0, partitions).mapToObj(number -> new TopicPartition(topic, number)).toList();
            consumer.assign(all);
            var ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                consumer.poll(Duration.ofMillis(100));
                consumer.commitAsync(); // so that several commits may be open
            }
            consumer.commitSync();
        }
    }
}
