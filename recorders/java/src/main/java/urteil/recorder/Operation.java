package urteil.recorder;

import java.util.ArrayList;
import java.util.List;

/**
 * One operation of a client, with the rows that describe it in the history format.
 *
 * <p>The recorder adds the operation's number and its completion time when it is written.
 */
record Operation(
        String f, String outcome, long process, long invokedNs, String error, String context, List<String> rows) {

    static final String NO_ROWS = "\"kind\":\"none\"";

    Operation {
        rows = rows.isEmpty() ? List.of(NO_ROWS) : List.copyOf(rows);
    }

    /** Returns the fields of a row; a negative offset is unknown, and a commit of an offset has no value. */
    static String row(String kind, String topic, int partition, long offset, String value) {
        String known = offset < 0 ? "" : ",\"offset\":" + offset;
        return "\"kind\":\"" + kind + "\",\"key\":" + quoted(topic + "-" + partition) + known
                + (value == null ? "" : ",\"value\":" + quoted(value));
    }

    /** Returns the operation as NDJSON, one line for each row. */
    String lines(long op, long completedNs) {
        String common = "{\"op\":" + op + ",\"process\":" + process + ",\"f\":\"" + f + "\",\"outcome\":\"" + outcome
                + "\",\"invoked_ns\":" + invokedNs + ",\"completed_ns\":" + completedNs
                + (error == null ? "" : ",\"error\":" + quoted(error)) + context;
        List<String> lines = new ArrayList<>();
        for (String row : rows) {
            lines.add(common + ",\"position\":" + lines.size() + "," + row + "}\n");
        }
        return String.join("", lines);
    }

    /** Returns a text as a JSON string. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        text.chars().forEach(letter -> {
            if (letter == '"' || letter == '\\') {
                json.append('\\').append((char) letter);
            } else if (letter < ' ' || Character.isSurrogate((char) letter)) {
                json.append(String.format("\\u%04x", letter));
            } else {
                json.append((char) letter);
            }
        });
        return json.append('"').toString();
    }
}
