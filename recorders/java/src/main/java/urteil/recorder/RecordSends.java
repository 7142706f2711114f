package urteil.recorder;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.InvalidRequiredAcksException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedCompressionTypeException;
import org.apache.kafka.common.errors.UnsupportedForMessageFormatException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Records each send of a producer, from {@code send} to its acknowledgement.
 *
 * <p>A header of the record identifies it: it joins the send, its acknowledgement and the polls. The
 * outcome of a send is {@code ok} if it was acknowledged, {@code fail} if it certainly did not happen,
 * and else {@code info}. A record of a transaction is {@code info} too, because an interceptor does not
 * see whether its transaction commits.
 */
public final class RecordSends implements ProducerInterceptor<Object, Object> {
    // Errors that depend only on the request and the configuration, so that every attempt was refused.
    private static final Set<Class<? extends Exception>> NEVER_APPENDED = Set.of(
            RecordTooLargeException.class, RecordBatchTooLargeException.class, InvalidRequiredAcksException.class,
            InvalidTimestampException.class, PolicyViolationException.class, UnsupportedCompressionTypeException.class,
            UnsupportedForMessageFormatException.class, TopicAuthorizationException.class,
            ClusterAuthorizationException.class);

    private record Open(long process, long invokedNs) {}

    private final Map<String, Open> open = new ConcurrentHashMap<>();
    private Recorder recorder;
    private boolean inTransactions;

    @Override
    public void configure(Map<String, ?> configs) {
        try {
            ProducerInterceptor.class.getMethod("onAcknowledgement", RecordMetadata.class, Exception.class, Headers.class);
        } catch (NoSuchMethodException error) {
            throw new ConfigException("urteil.recorder needs kafka-clients 4.1 or later: older interceptors "
                    + "do not see which record was acknowledged");
        }
        inTransactions = configs.get("transactional.id") != null;
        recorder = Recorder.of(configs);
    }

    @Override
    public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
        String value = recorder.newValue();
        Headers headers = new RecordHeaders(record.headers()); // the application may send the same record again
        headers.remove(Recorder.HEADER).add(Recorder.HEADER, value.getBytes(StandardCharsets.US_ASCII));
        open.put(value, new Open(recorder.openProcess(), Recorder.now()));
        return new ProducerRecord<>(
                record.topic(), record.partition(), record.timestamp(), record.key(), record.value(), headers);
    }

    @Override
    public void onAcknowledgement(RecordMetadata metadata, Exception error, Headers headers) {
        Header header = headers.lastHeader(Recorder.HEADER);
        String value = header == null ? null : new String(header.value(), StandardCharsets.US_ASCII);
        Open send = value == null ? null : open.remove(value);
        if (send == null) {
            return; // another interceptor has replaced the record
        }
        boolean unsent = metadata == null || metadata.partition() < 0;
        String outcome = unsent ? "fail" : outcome(metadata, error);
        long offset = outcome.equals("ok") ? metadata.offset() : -1;
        List<String> rows = unsent
                ? List.of()
                : List.of(Operation.row("send", metadata.topic(), metadata.partition(), offset, value));
        String reason = error == null ? null : error.toString();
        recorder.write(new Operation("send", outcome, send.process(), send.invokedNs(), reason, "", rows));
        if (!outcome.equals("info")) {
            recorder.closeProcess(send.process());
        }
    }

    private String outcome(RecordMetadata metadata, Exception error) {
        if (error != null) {
            return NEVER_APPENDED.contains(error.getClass()) ? "fail" : "info";
        }
        return inTransactions || !metadata.hasOffset() ? "info" : "ok"; // acks=0 has no offset
    }

    @Override
    public void close() {}
}
