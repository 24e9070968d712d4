package highwater.outside;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.utils.Utils;

/** What holds for every record of a topic. */
final class RecordChecks {
  private static final Map<String, String> OPS = Map.of("c", "created", "u", "updated", "d", "deleted", "r", "read");
  private static final Map<String, String> SYMBOLS = Map.of("insights", "security.symbol", "ipos", "ticker");

  private RecordChecks() {}

  static Check readable(CommittedLog log) {
    List<String> problems = new ArrayList<>(log.unreadable);
    for (String feed : CommittedLog.FEEDS) {
      Map<String, String> types = Map.of(
          feed, "marketdata." + feed + ".Envelope",
          feed + ".source-offset", "highwater.SourceOffset",
          feed + ".dead-letters", "highwater.DeadLetter");
      types.forEach((topic, type) -> {
        if (!log.partitions.containsKey(topic)) problems.add(topic + " is not there");
        for (Row row : log.topic(topic)) {
          if (row.value() != null && !row.value().getSchema().getFullName().equals(type)) {
            problems.add(row.place() + " is a " + row.value().getSchema().getFullName());
          }
        }
      });
    }
    long tombstones = log.rows.stream().filter(row -> row.value() == null).count();
    return new Check("readable", log.rows.size() + " records decoded, " + tombstones + " tombstones", problems);
  }

  static Check partitions(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    for (Row row : log.rows) {
      int partition = Utils.toPositive(Utils.murmur2(row.keyBytes())) % log.partitions.get(row.topic());
      if (row.partition() != partition && !row.key().equals(CommittedLog.FENCE_KEY)) {
        problems.add(row.place() + " belongs into partition " + partition);
      }
    }
    return new Check("partitions", "each key where Kafka's own partitioner puts it", problems);
  }

  static Check headers(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    int count = 0;
    Map<String, Row> causes = new HashMap<>();
    for (String feed : CommittedLog.FEEDS) {
      for (Row event : log.changes(feed)) {
        causes.put(event.text("event_id"), event);
        compare(event, expected(feed, event, event.text("event_id"), OPS.get(event.text("op"))), problems);
        count++;
      }
    }
    for (String topic : CommittedLog.TRANSITIONS) {
      String feed = topic.substring(0, topic.indexOf('.'));
      String type = topic.equals("ipos.deal-status") ? "deal-status-changed" : "rating-changed";
      for (Row row : log.topic(topic)) {
        Row cause = causes.get(row.text("caused_by"));
        if (cause == null) problems.add(row.place() + ": its cause is not there");
        else compare(row, expected(feed, cause, row.text("event_id"), type), problems);
        count++;
      }
    }
    return new Check("headers", "headers of " + count + " events say what the events say", problems);
  }

  private static Map<String, String> expected(String feed, Row event, String id, String type) {
    Map<String, String> headers = new TreeMap<>();
    headers.put("ce_specversion", "1.0");
    headers.put("ce_id", id);
    headers.put("ce_source", "/highwater/" + feed);
    headers.put("ce_type", "marketdata." + feed + "." + type);
    headers.put("ce_subject", event.key());
    headers.put("ce_time", time(event.number("ts_ms")));
    headers.put("content-type", "application/avro");
    headers.put("op", event.text("op"));
    GenericRecord record = event.after() == null ? event.before() : event.after();
    String symbol = SYMBOLS.containsKey(feed) ? Row.text(record, SYMBOLS.get(feed)) : null;
    if (symbol != null && !symbol.isEmpty()) headers.put("symbol", symbol);
    List<?> changed = (List<?>) event.value().get("changed_fields");
    if (!changed.isEmpty()) {
      headers.put("changed-fields", changed.stream().map(Object::toString).collect(Collectors.joining(",")));
    }
    return headers;
  }

  /** Always with three digits for the milliseconds. */
  private static String time(long ms) {
    Instant second = Instant.ofEpochMilli(ms).truncatedTo(ChronoUnit.SECONDS);
    return second.toString().replace("Z", "." + String.format("%03d", ms % 1000) + "Z");
  }

  private static void compare(Row row, Map<String, String> expected, List<String> problems) {
    if (!row.headers().equals(expected)) {
      problems.add(row.place() + ": headers " + row.headers() + ", expected " + expected);
    }
  }
}
