package urteil.recorder;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

/**
 * Records each poll of a consumer that returns records.
 *
 * <p>A record without the header of {@link RecordSends} is left out: the history would have no send of it.
 * An interceptor does not see when a poll began, so the poll counts from the end of the poll before it. It
 * does not see seeks and rebalances either. So whenever a partition does not continue where it stopped, the
 * consumer becomes another process of the history.
 */
public final class RecordPolls implements ConsumerInterceptor<Object, Object> {
    private final Map<TopicPartition, Long> next = new HashMap<>();
    private Recorder recorder;
    private String context;
    private long process;
    private long pollsFromNs;

    @Override
    public void configure(Map<String, ?> configs) {
        recorder = Recorder.of(configs);
        Object group = configs.get("group.id");
        Object isolation = configs.get("isolation.level");
        String level = isolation == null ? "read_uncommitted" : isolation.toString().toLowerCase(java.util.Locale.ROOT);
        context = (group == null ? "" : ",\"group\":" + Operation.quoted(group.toString()))
                + ",\"isolation\":" + Operation.quoted(level);
        process = recorder.newProcess();
        pollsFromNs = Recorder.now();
    }

    @Override
    public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
        List<String> rows = new ArrayList<>();
        for (TopicPartition partition : records.partitions()) {
            List<ConsumerRecord<Object, Object>> polled = records.records(partition);
            Long expected = next.put(partition, polled.get(polled.size() - 1).offset() + 1);
            if (expected != null && expected != polled.get(0).offset()) {
                process = recorder.newProcess();
            }
            for (ConsumerRecord<Object, Object> one : polled) {
                Header header = one.headers().lastHeader(Recorder.HEADER);
                if (header != null) {
                    String value = new String(header.value(), StandardCharsets.US_ASCII);
                    rows.add(Operation.row("poll", one.topic(), one.partition(), one.offset(), value));
                }
            }
        }
        if (!rows.isEmpty()) {
            pollsFromNs = recorder.write(new Operation("poll", "ok", process, pollsFromNs, null, context, rows));
        }
        return records;
    }

    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

    @Override
    public void close() {}
}
