package urteil.recorder;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.config.ConfigException;

/**
 * Writes the operations of all clients of this JVM to one NDJSON file of a folder.
 *
 * <p>Several JVMs may write to one folder, or to folders that are joined later. So each recorder has a
 * random number: it is part of the name of its file, of its process numbers and of its operation numbers.
 * An operation number begins with the microsecond of the completion, so that the operations of all
 * recorders are in completion order.
 *
 * <p>Times are nanoseconds since 1970 at the start of the JVM, continued with the monotonic clock.
 */
final class Recorder {
    static final String FOLDER = "urteil.recorder.folder";
    /** The header that identifies a record; the history has its value instead of the record's. */
    static final String HEADER = "urteil";

    private static final int RECORDER_BITS = 10;
    private static final long EPOCH_NS = epochNs() - System.nanoTime();
    private static final Map<Path, Recorder> BY_FOLDER = new ConcurrentHashMap<>();

    private final int number = new SecureRandom().nextInt(1 << RECORDER_BITS);
    private final String name = String.format("%03x-%08x", number, new SecureRandom().nextInt());
    private final OutputStream file;
    private final Deque<Long> free = new ArrayDeque<>();
    private long processes;
    private long values;
    private long lastOp;

    private Recorder(Path folder) {
        try {
            Files.createDirectories(folder);
            // unbuffered: an operation is in the file when its callback returns
            file = Files.newOutputStream(
                    folder.resolve("recorder-" + name + ".ndjson"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        } catch (IOException error) {
            throw new ConfigException(FOLDER, folder, "cannot be written: " + error);
        }
    }

    /** Returns the recorder of the folder that the client's configuration names. */
    static Recorder of(Map<String, ?> configs) {
        Object folder = configs.get(FOLDER);
        if (folder == null || folder.toString().isEmpty()) {
            throw new ConfigException(FOLDER, folder, "name the folder for the operations");
        }
        return BY_FOLDER.computeIfAbsent(Path.of(folder.toString()).toAbsolutePath(), Recorder::new);
    }

    static long now() {
        return EPOCH_NS + System.nanoTime();
    }

    /** Returns a value that no other record has. */
    synchronized String newValue() {
        return name + "-" + values++;
    }

    /** Returns a process of the history that has no operation open. */
    synchronized long openProcess() {
        if (!free.isEmpty()) {
            return free.pop();
        }
        return newProcess();
    }

    /** Returns a process of the history that has done nothing yet. */
    synchronized long newProcess() {
        return (long) number << 40 | processes++;
    }

    /** Lets the next operation have this process; a process with an unknown outcome ends. */
    synchronized void closeProcess(long process) {
        free.push(process);
    }

    /** Writes the operation, which completes now, and returns the time of its completion. */
    synchronized long write(Operation operation) {
        long completedNs = now();
        lastOp = Math.max(lastOp + (1L << RECORDER_BITS), completedNs / 1000 << RECORDER_BITS | number);
        try {
            file.write(operation.lines(lastOp, completedNs).getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException("the history has a gap", error);
        }
        return completedNs;
    }

    private static long epochNs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
