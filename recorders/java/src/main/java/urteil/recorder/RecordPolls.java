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
 * Records each poll of a consumer that returns records, and each commit of its offsets that succeeded.
 *
 * <p>A record without the header of {@link RecordSends} is left out: the history would have no send of it.
 * An interceptor does not see when a poll began, so the poll counts from the end of the poll before it. It
 * does not see seeks and rebalances either. So whenever a partition does not continue where it stopped, the
 * consumer becomes another process of the history.
 *
 * <p>An interceptor does not see when a commit began, and several may be open at once. So a commit counts from
 * the start of the consumer, and has a process of its own.
 */
public final class RecordPolls implements ConsumerInterceptor<Object, Object> {
    private final Map<TopicPartition, Long> next = new HashMap<>();
    private Recorder recorder;
    private String group;
    private String context;
    private long process;
    private long startedNs;
    private long pollsFromNs;

    @Override
    public void configure(Map<String, ?> configs) {
        recorder = Recorder.of(configs);
        Object id = configs.get("group.id");
        Object isolation = configs.get("isolation.level");
        String level = isolation == null ? "read_uncommitted" : isolation.toString().toLowerCase(java.util.Locale.ROOT);
        group = id == null ? "" : ",\"group\":" + Operation.quoted(id.toString());
        context = group + ",\"isolation\":" + Operation.quoted(level);
        process = recorder.newProcess();
        startedNs = Recorder.now();
        pollsFromNs = startedNs;
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
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<String> rows = new ArrayList<>();
        offsets.forEach((partition, committed) -> rows.add(
                Operation.row("commit_offset", partition.topic(), partition.partition(), committed.offset(), null)));
        if (!rows.isEmpty()) {
            recorder.write(new Operation("commit_offset", "ok", recorder.newProcess(), startedNs, null, group, rows));
        }
    }

    @Override
    public void close() {}
}
