// The scenarios with Kafka Streams: an application that copies a topic exactly once.
//
//     java -cp 'jars/*:classes' Streams SCENARIO SERVERS TOPIC RECORDS

import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

public class Streams extends Scenarios {
    static final String NO_API = "a Streams application has no API for it";

    Streams(String servers, String topic, int records) {
        super(servers, topic, records);
    }

    public static void main(String[] args) {
        new Streams(args[1], args[2], Integer.parseInt(args[3])).print(args[0]);
    }

    @Override
    String run(String scenario) throws Exception {
        return switch (scenario) {
            case "transaction" -> copies(12);
            case "rebalance-cooperative" -> rebalances();
            case "crash-of-leader" -> crashOfLeader();
            case "crash-of-group-coordinator", "crash-of-transaction-coordinator" ->
                throw new NotTried("the scenario's crash is planned for another kind of program");
            case "rebalance-consumer" ->
                throw new NotOffered("Kafka Streams has a protocol of its own, KIP-1071, which the broker does not serve");
            default -> throw new NotOffered(NO_API);
        };
    }

    // The application restarts in the middle.
    String copies(int count) throws Exception {
        var wanted = numbers(count);
        write(wanted.subList(0, count / 2));
        try (var streams = application("one")) {
            streams.start();
            awaitUntil("the first half is not copied", () -> allValues(topic + "-out").size() >= count / 2);
        }
        write(wanted.subList(count / 2, count));
        try (var streams = application("one")) {
            streams.start();
            awaitUntil("the second half is not copied", () -> allValues(topic + "-out").size() >= count);
        }
        expect(allValues(topic + "-out").equals(wanted), allValues(topic + "-out"));
        return "exactly_once_v2, with a restart of the application";
    }

    @Override
    String crashOfLeader() throws Exception {
        createOutput();
        var wanted = numbers(60);
        try (var streams = application("one")) {
            streams.start();
            writeEach(wanted);
            awaitUntil("records are missing", () -> allValues(topic + "-out").size() >= wanted.size());
        }
        expect(allValues(topic + "-out").equals(wanted), allValues(topic + "-out"));
        return "exactly_once_v2, the leader of the application's input";
    }

    void createOutput() throws Exception {
        try (var admin = admin()) {
            admin.createTopics(List.of(new NewTopic(topic + "-out", 1, (short) 3))).all().get();
        }
    }

    String rebalances() throws Exception {
        createOutput();
        var wanted = numbers(40);
        try (var first = application("first"); var second = application("second"); var producer = producer(Map.of())) {
            first.start();
            awaitUntil("one instance has not all partitions", () -> tasks(first) == 4);
            second.start();
            awaitUntil("two instances do not share", () -> tasks(first) == 2 && tasks(second) == 2);
            for (var value : wanted) producer.send(new ProducerRecord<>(topic, Integer.parseInt(value) % 4, null, value));
            producer.flush();
            awaitUntil("records are missing", () -> allValues(topic + "-out").size() >= wanted.size());
            expectOnce(allValues(topic + "-out"), wanted);
            second.close();
            awaitUntil("the remaining instance has not all partitions", () -> tasks(first) == 4);
        }
        return "exactly_once_v2, two instances";
    }

    static int tasks(KafkaStreams streams) {
        return streams.metadataForLocalThreads().stream().mapToInt(one -> one.activeTasks().size()).sum();
    }

    void write(List<String> values) {
        try (var producer = producer(Map.of())) {
            for (var value : values) producer.send(new ProducerRecord<>(topic, 0, null, value));
        }
    }

    KafkaStreams application(String name) throws Exception {
        var builder = new StreamsBuilder();
        builder.<String, String>stream(topic).to(topic + "-out");
        Properties settings = properties(Map.of(
            "application.id", topic, "client.id", name, "processing.guarantee", "exactly_once_v2", "replication.factor", 3,
            "default.key.serde", Serdes.StringSerde.class, "default.value.serde", Serdes.StringSerde.class,
            "state.dir", Files.createTempDirectory("streams").toString(), "auto.offset.reset", "earliest"));
        settings.put("commit.interval.ms", 100);
        settings.put("session.timeout.ms", 6000); // an instance that is closed does not leave its group
        var streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        return streams;
    }
}
