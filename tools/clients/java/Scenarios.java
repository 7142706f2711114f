// The scenarios with the Java client of Apache Kafka and its AdminClient.
//
//     java -cp 'jars/*:classes' Scenarios SCENARIO SERVERS TOPIC RECORDS

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Scenarios {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final Duration SHORT = Duration.ofMillis(100);

    final String servers, topic;
    final int records;

    Scenarios(String servers, String topic, int records) {
        this.servers = servers;
        this.topic = topic;
        this.records = records;
    }

    public static void main(String[] args) {
        new Scenarios(args[1], args[2], Integer.parseInt(args[3])).print(args[0]);
    }

    /** Runs a scenario, prints its result as one line of JSON, and ends the process. */
    void print(String scenario) {
        String note, outcome = "passed";
        try {
            note = run(scenario);
        } catch (NotOffered reason) {
            outcome = "not offered";
            note = reason.getMessage();
        } catch (Throwable error) { // the driver reports it in the table
            error.printStackTrace();
            outcome = "failed";
            note = error.toString();
        }
        System.out.printf("{\"outcome\": \"%s\", \"note\": \"%s\"}%n", outcome, escaped(note));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** The client has no means for this scenario. */
    static class NotOffered extends RuntimeException {
        NotOffered(String why) {
            super(why);
        }
    }

    static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\"", "'").replace("\n", " ");
    }

    String run(String scenario) throws Exception {
        return switch (scenario) {
            case "metadata" -> metadata();
            case "administration" -> administration();
            case "records" -> records();
            case "rebalance-classic" -> rebalance(
                Map.of("partition.assignment.strategy", RangeAssignor.class.getName()));
            case "rebalance-cooperative" -> rebalance(
                Map.of("partition.assignment.strategy", CooperativeStickyAssignor.class.getName()));
            case "rebalance-consumer" -> rebalance(Map.of("group.protocol", "consumer"));
            case "transaction" -> transaction();
            case "abort-after-commit" -> abortAfterCommit();
            case "unknown-topic" -> unknownTopic();
            case "too-large" -> tooLarge();
            case "crash-of-leader" -> crashOfLeader();
            case "crash-of-group-coordinator" -> crashOfGroupCoordinator();
            case "crash-of-transaction-coordinator" -> crashOfTransactionCoordinator();
            default -> throw new IllegalArgumentException(scenario);
        };
    }

    String metadata() throws Exception {
        try (var admin = admin()) {
            expect(admin.describeCluster().nodes().get().size() == 3, "brokers");
            var found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            expect(found.partitions().size() == 3, found);
            expect(found.partitions().stream().allMatch(one -> one.leader() != null && one.replicas().size() == 3), found);
        }
        return "";
    }

    String administration() throws Exception {
        try (var admin = admin()) {
            admin.createTopics(List.of(new NewTopic(topic, 4, (short) 3))).all().get();
            awaitUntil("the topic is not listed", () -> admin.listTopics().names().get().contains(topic));
            expect(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size() == 4, topic);
            admin.deleteTopics(List.of(topic)).all().get();
            awaitUntil("the topic is listed", () -> !admin.listTopics().names().get().contains(topic));
        }
        return "";
    }

    String records() throws Exception {
        var wanted = new ArrayList<String>();
        for (var codec : CODECS) {
            try (var producer = producer(Map.of("compression.type", codec, "enable.idempotence", true, "linger.ms", 5))) {
                var sent = new ArrayList<Future<RecordMetadata>>();
                for (int number = 0; number < records; number++) {
                    wanted.add(codec + "-" + number);
                    sent.add(producer.send(new ProducerRecord<>(topic, codec + "-" + number)));
                }
                producer.flush();
                for (var one : sent) one.get();
            }
        }
        var seen = new ArrayList<String>();
        try (var consumer = member(Map.of())) {
            awaitUntil("records are missing", () -> read(consumer, seen) >= wanted.size());
            expectOnce(seen, wanted);
            consumer.commitSync();
        }
        expect(committed() == wanted.size(), committed() + " committed");
        return String.join(", ", CODECS);
    }

    String rebalance(Map<String, Object> settings) throws Exception {
        try (var first = member(settings); var producer = producer(Map.of())) {
            awaitUntil("one member has not all partitions", () -> sizeOf(first) == 4);
            try (var second = member(settings)) {
                awaitUntil("two members do not share", () -> sizeOf(first) == 2 & sizeOf(second) == 2);
                var wanted = numbers(40);
                for (var value : wanted) producer.send(new ProducerRecord<>(topic, Integer.parseInt(value) % 4, null, value));
                producer.flush();
                var seen = new ArrayList<String>();
                awaitUntil("records are missing", () -> read(first, seen) >= 40 || read(second, seen) >= 40);
                expectOnce(seen, wanted);
                first.commitSync();
                second.commitSync();
            }
            awaitUntil("the remaining member has not all partitions", () -> sizeOf(first) == 4);
        }
        return "";
    }

    String transaction() throws Exception {
        var wanted = numbers(12);
        writeEach(wanted);
        int done = 0;
        boolean isAborted = false;
        var place = new TopicPartition(topic, 0);
        try (var consumer = member(Map.of("max.poll.records", 4)); var producer = transactional()) {
            while (done < wanted.size()) {
                var polled = consumer.poll(Duration.ofSeconds(1)).records(place);
                if (polled.isEmpty()) continue;
                producer.beginTransaction();
                for (var one : polled) producer.send(new ProducerRecord<>(topic + "-out", 0, null, one.value()));
                var next = new OffsetAndMetadata(polled.get(polled.size() - 1).offset() + 1);
                producer.sendOffsetsToTransaction(Map.of(place, next), consumer.groupMetadata());
                producer.flush();
                if (isAborted) {
                    producer.commitTransaction();
                    done += polled.size();
                } else {
                    producer.abortTransaction();
                    isAborted = true;
                    expect(committed() == 0, "the offsets of an aborted transaction are committed");
                    consumer.seek(place, polled.get(0).offset());
                }
            }
        }
        expect(committed() == wanted.size(), committed() + " committed");
        expect(allValues(topic + "-out").equals(wanted), allValues(topic + "-out"));
        return "";
    }

    String abortAfterCommit() throws Exception {
        var wanted = new ArrayList<String>();
        try (var producer = transactional()) {
            for (int number = 0; number < 20; number++) {
                wanted.add("kept-" + number);
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, 0, null, "kept-" + number));
                producer.commitTransaction();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, 0, null, "gone-" + number));
                if (number % 2 == 1) producer.flush();
                producer.abortTransaction();
            }
        }
        expect(allValues(topic).equals(wanted), allValues(topic));
        return "";
    }

    String unknownTopic() throws Exception {
        try (var producer = producer(Map.of("max.block.ms", 3000)); var admin = admin()) {
            var error = refusal(producer.send(new ProducerRecord<>(topic, "lost")));
            expect(error instanceof TimeoutException, error);
            var cause = error.getCause() == null ? "" : error.getCause().getClass().getSimpleName();
            expect(refusal(admin.describeTopics(List.of(topic)).allTopicNames()) instanceof UnknownTopicOrPartitionException, "describeTopics");
            return "the write ends with TimeoutException " + cause + ", the admin with the broker's error";
        }
    }

    String tooLarge() throws Exception {
        var settings = properties(Map.of("max.request.size", 10_000_000, "buffer.memory", 30_000_000));
        try (var producer = new KafkaProducer<byte[], byte[]>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            record Write(String suffix, int size, boolean isAccepted) {}
            for (var one : List.of(
                    new Write("", 900_000, true), new Write("", 1_100_000, false), new Write("-small", 1_000, true),
                    new Write("-small", 3_000, false), new Write("-large", 1_100_000, true))) {
                var error = refusal(producer.send(new ProducerRecord<>(topic + one.suffix, new byte[one.size])));
                expect(one.isAccepted ? error == null : error instanceof RecordTooLargeException, one + ": " + error);
            }
        }
        return "";
    }

    String crashOfLeader() throws Exception {
        var wanted = numbers(60);
        writeEach(wanted);
        expect(allValues(topic).equals(wanted), allValues(topic));
        return "";
    }

    String crashOfGroupCoordinator() throws Exception {
        var wanted = numbers(60);
        writeEach(wanted);
        var seen = new HashSet<String>();
        try (var consumer = member(Map.of("max.poll.records", 5))) {
            awaitUntil("records were not read and committed", () -> {
                consumer.poll(Duration.ofSeconds(1)).forEach(one -> seen.add(one.value()));
                try {
                    consumer.commitSync();
                } catch (KafkaException duringFailover) {
                    return false; // the successor gets a later commit
                }
                return seen.size() == wanted.size();
            });
        }
        expect(committed() == wanted.size(), committed() + " committed");
        return "";
    }

    String crashOfTransactionCoordinator() throws Exception {
        var wanted = numbers(20);
        try (var producer = transactional()) {
            for (var value : wanted) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, 0, null, value));
                producer.commitTransaction();
            }
        }
        expect(allValues(topic).equals(wanted), allValues(topic));
        return "";
    }

    // ------------------------------------------------------------ what the scenarios use

    interface Condition {
        boolean holds() throws Exception;
    }

    static void expect(boolean condition, Object why) {
        if (!condition) throw new AssertionError(String.valueOf(why));
    }

    static void expectOnce(Collection<String> found, Collection<String> wanted) {
        var missing = new HashSet<>(wanted);
        missing.removeAll(new HashSet<>(found));
        expect(missing.isEmpty() && found.size() == wanted.size(), missing.size() + " values missing, " + found.size() + " found");
    }

    static void awaitUntil(String why, Condition condition) throws Exception {
        long deadline = System.nanoTime() + 50_000_000_000L;
        while (!condition.holds()) {
            expect(System.nanoTime() < deadline, "after 50 s: " + why);
            Thread.sleep(20);
        }
    }

    static Throwable refusal(org.apache.kafka.common.KafkaFuture<?> future) throws Exception {
        return refusal((Future<?>) future.toCompletionStage().toCompletableFuture());
    }

    static Throwable refusal(Future<?> future) throws Exception {
        try {
            future.get();
            return null;
        } catch (ExecutionException error) {
            return error.getCause();
        }
    }

    static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(String::valueOf).toList();
    }

    Properties properties(Map<String, Object> settings) {
        var all = new Properties();
        all.put("bootstrap.servers", servers);
        all.putAll(settings);
        return all;
    }

    Admin admin() {
        return Admin.create(properties(Map.of()));
    }

    KafkaProducer<String, String> producer(Map<String, Object> settings) {
        return new KafkaProducer<>(properties(settings), new StringSerializer(), new StringSerializer());
    }

    KafkaProducer<String, String> transactional() {
        var producer = producer(Map.of("transactional.id", topic));
        producer.initTransactions();
        return producer;
    }

    KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        var all = properties(Map.of("group.id", topic, "auto.offset.reset", "earliest", "enable.auto.commit", false));
        all.putAll(settings);
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    KafkaConsumer<String, String> member(Map<String, Object> settings) {
        var consumer = consumer(settings);
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    static int sizeOf(KafkaConsumer<String, String> consumer) {
        expect(consumer.poll(SHORT).isEmpty(), "a record too early");
        return consumer.assignment().size();
    }

    static int read(KafkaConsumer<String, String> consumer, Collection<String> seen) {
        for (ConsumerRecord<String, String> one : consumer.poll(SHORT)) seen.add(one.value());
        return seen.size();
    }

    void writeEach(List<String> values) throws Exception {
        try (var producer = producer(Map.of())) {
            for (var value : values) producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
        }
    }

    long committed() throws Exception {
        return committed(topic);
    }

    long committed(String group) throws Exception {
        try (var admin = admin()) {
            var found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            return found.values().stream().filter(one -> one != null).mapToLong(OffsetAndMetadata::offset).sum();
        }
    }

    List<String> allValues(String name) throws Exception {
        var place = new TopicPartition(name, 0);
        var seen = new ArrayList<String>();
        var settings = properties(Map.of("isolation.level", "read_committed", "auto.offset.reset", "earliest"));
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            long end = consumer.endOffsets(List.of(place)).get(place);
            awaitUntil("the end is not reached", () -> {
                read(consumer, seen);
                return consumer.position(place) >= end;
            });
        }
        return seen;
    }
}
