// The scenarios with Kafka Streams: an application that copies a topic exactly once.
//
//     java -cp 'jars/*:classes' Streams SCENARIO SERVERS TOPIC RECORDS

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.MissingSourceTopicException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.ValueMapper;

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
            case "records" -> records();
            case "unknown-topic" -> unknownTopic();
            case "too-large" -> tooLarge();
            case "crash-of-leader" -> crashOfLeader();
            case "crash-of-group-coordinator" -> crashOfGroupCoordinator();
            case "crash-of-transaction-coordinator" -> crashOfTransactionCoordinator();
            case "abort-after-commit" -> throw new NotOffered("a Streams application does not decide when a transaction ends");
            case "rebalance-consumer" ->
                throw new NotOffered("Kafka Streams has a protocol of its own, KIP-1071, which the broker does not serve");
            default -> throw new NotOffered(NO_API);
        };
    }

    // The application restarts in the middle.
    String copies(int count) throws Exception {
        var wanted = numbers(count);
        write(wanted.subList(0, count / 2), topic);
        try (var streams = application()) {
            streams.start();
            awaitUntil("the first half is not copied", () -> allValues(topic + "-out").size() >= count / 2);
        }
        write(wanted.subList(count / 2, count), topic);
        try (var streams = application()) {
            streams.start();
            awaitUntil("the second half is not copied", () -> allValues(topic + "-out").size() >= count);
        }
        expect(allValues(topic + "-out").equals(wanted), allValues(topic + "-out"));
        return "exactly_once_v2, with a restart of the application";
    }

    @Override
    String records() throws Exception {
        var wanted = new ArrayList<String>();
        for (var codec : CODECS) {
            var input = topic + "-" + codec;
            try (var admin = admin()) {
                admin.createTopics(List.of(new NewTopic(input, 3, (short) 3))).all().get();
            }
            var values = IntStream.range(0, records).mapToObj(number -> codec + "-" + number).toList();
            wanted.addAll(values);
            try (var producer = producer(Map.of("linger.ms", 5))) {
                for (var value : values) producer.send(new ProducerRecord<>(input, value));
            }
            try (var streams = application(input, input, topic, Map.of("producer.compression.type", codec))) {
                streams.start();
                awaitUntil("records are missing", () -> committed(input) == records);
            }
        }
        var seen = new ArrayList<String>();
        try (var consumer = consumer(Map.of("isolation.level", "read_committed", "group.id", topic + "-reader"))) {
            consumer.subscribe(List.of(topic));
            awaitUntil("records are missing in the output", () -> read(consumer, seen) >= wanted.size());
        }
        expectOnce(seen, wanted);
        return String.join(", ", CODECS);
    }

    @Override
    String unknownTopic() throws Exception {
        var error = endOf(application(topic, topic, topic + "-out", Map.of()));
        expect(error instanceof MissingSourceTopicException, error);
        return "the application ends with MissingSourceTopicException";
    }

    @Override
    String tooLarge() throws Exception {
        var large = Map.<String, Object>of("producer.max.request.size", 10_000_000, "producer.buffer.memory", 30_000_000);
        for (var one : List.of(Map.entry("-small", 3_000), Map.entry("", 1_100_000))) {
            var name = topic + one.getKey();
            write(List.of("v".repeat(one.getValue() / 2)), topic + "-large");
            var error = endOf(application(name, topic + "-large", name, large, value -> value + value));
            expect(causes(error).anyMatch(cause -> cause instanceof RecordTooLargeException), error);
            expect(allValues(name).stream().noneMatch(value -> value.length() == one.getValue()), "a refused record is in " + name);
        }
        return "the application doubles a record, and ends with RecordTooLargeException";
    }

    @Override
    String crashOfLeader() throws Exception {
        return copyDuringCrash("the leader of the application's input");
    }

    @Override
    String crashOfGroupCoordinator() throws Exception {
        return copyDuringCrash("at the third commit of offsets in a transaction");
    }

    @Override
    String crashOfTransactionCoordinator() throws Exception {
        return copyDuringCrash("the coordinator of the application's transactions");
    }

    String copyDuringCrash(String note) throws Exception {
        createOutput();
        var wanted = numbers(60);
        try (var streams = application(); var producer = producer(Map.of())) {
            streams.start();
            for (var value : wanted) {
                producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
                Thread.sleep(50); // so that there are several transactions
            }
            awaitUntil("records are missing", () -> allValues(topic + "-out").size() >= wanted.size());
        }
        expect(allValues(topic + "-out").equals(wanted), allValues(topic + "-out"));
        return "exactly_once_v2, " + note;
    }

    /** Runs the application until it ends with an error; returns the error. */
    static Throwable endOf(KafkaStreams streams) throws Exception {
        var ended = new CompletableFuture<Throwable>();
        streams.setUncaughtExceptionHandler(error -> {
            ended.complete(error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        try (streams) {
            streams.start();
            return ended.get(50, TimeUnit.SECONDS);
        }
    }

    static Stream<Throwable> causes(Throwable error) {
        return Stream.iterate(error, one -> one != null, Throwable::getCause);
    }

    void createOutput() throws Exception {
        try (var admin = admin()) {
            admin.createTopics(List.of(new NewTopic(topic + "-out", 1, (short) 3))).all().get();
        }
    }

    String rebalances() throws Exception {
        createOutput();
        var wanted = numbers(40);
        try (var first = application(); var second = application(); var producer = producer(Map.of())) {
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

    void write(List<String> values, String target) {
        try (var producer = producer(Map.of())) {
            for (var value : values) producer.send(new ProducerRecord<>(target, 0, null, value));
        }
    }

    KafkaStreams application() throws Exception {
        return application(topic, topic, topic + "-out", Map.of());
    }

    KafkaStreams application(String name, String source, String target, Map<String, Object> more) throws Exception {
        return application(name, source, target, more, value -> value);
    }

    KafkaStreams application(
            String name, String source, String target, Map<String, Object> more, ValueMapper<String, String> change) throws Exception {
        var builder = new StreamsBuilder();
        builder.<String, String>stream(source).mapValues(change).to(target);
        Properties settings = properties(Map.of(
            "application.id", name, "client.id", "copier", "processing.guarantee", "exactly_once_v2", "replication.factor", 3,
            "default.key.serde", Serdes.StringSerde.class, "default.value.serde", Serdes.StringSerde.class,
            "state.dir", Files.createTempDirectory("streams").toString(), "auto.offset.reset", "earliest"));
        settings.put("commit.interval.ms", 100);
        settings.put("session.timeout.ms", 6000); // an instance that is closed does not leave its group
        settings.putAll(more);
        var streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        return streams;
    }
}
