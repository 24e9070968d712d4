package highwater.outside;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.apache.avro.generic.GenericRecord;

/** The change events of the feeds: their numbers, their ids, and the chain of each record. */
final class ChangeChecks {
  private ChangeChecks() {}

  static Check sequence(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    int count = 0;
    for (String feed : CommittedLog.FEEDS) {
      Map<String, Long> latest = new HashMap<>();
      Map<String, Set<Long>> numbers = new TreeMap<>();
      for (Row event : log.topic(feed)) {
        if (event.value() == null) {
          problems.add(event.place() + " is a tombstone");
          continue;
        }
        String incarnation = event.text("source.incarnation");
        long seq = event.number("source.seq");
        Long before = latest.put(incarnation + "/" + event.partition(), seq);
        if (before != null && before >= seq) problems.add(event.place() + ": seq " + seq + " after " + before);
        numbers.computeIfAbsent(incarnation, ignored -> new HashSet<>()).add(seq);
        String id = feed + ":" + incarnation + ":" + seq;
        if (!id.equals(event.text("event_id"))) problems.add(event.place() + " is " + id);
        count++;
      }
      numbers.forEach((incarnation, seqs) -> {
        long last = seqs.stream().mapToLong(Long::longValue).max().orElse(0);
        for (long seq = 1; seq <= last; seq++) {
          if (!seqs.contains(seq)) problems.add(feed + ":" + incarnation + ":" + seq + " is missing");
        }
      });
    }
    return new Check("sequence", count + " changes numbered without a gap", problems);
  }

  static Check once(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    Set<String> ids = new HashSet<>();
    List<String> topics = new ArrayList<>(CommittedLog.FEEDS);
    topics.addAll(CommittedLog.TRANSITIONS);
    for (String topic : topics) {
      for (Row row : log.topic(topic)) {
        if (row.value() != null && !ids.add(row.text("event_id"))) {
          problems.add(row.place() + ": " + row.text("event_id") + " once more");
        }
      }
    }
    return new Check("once", ids.size() + " event ids, each once", problems);
  }

  static Check chain(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    int links = 0;
    for (String feed : CommittedLog.FEEDS) {
      Map<String, GenericRecord> live = new HashMap<>();
      for (Row event : log.changes(feed)) {
        GenericRecord known = live.get(event.key());
        String problem = switch (event.text("op")) {
          case "c" -> known != null ? "created, but it was there" : shape(event, true, false);
          case "r" -> shape(event, true, false);
          case "u" -> Objects.equals(known, event.before()) ? shape(event, false, false) : "before is not the last after";
          case "d" -> Objects.equals(known, event.before()) ? shape(event, false, true) : "before is not the last after";
          default -> "op " + event.text("op");
        };
        if (problem != null) problems.add(event.place() + ": " + problem);
        if (event.before() != null) links++;
        if (event.after() == null) live.remove(event.key());
        else live.put(event.key(), event.after());
      }
    }
    return new Check("chain", links + " changes begin where the one before them ended", problems);
  }

  private static String shape(Row event, boolean beforeNull, boolean afterNull) {
    if ((event.before() == null) != beforeNull || (event.after() == null) != afterNull) {
      return "op " + event.text("op") + " with before " + event.before() + " and after " + event.after();
    }
    GenericRecord record = afterNull ? event.before() : event.after();
    if (!event.key().equals(Row.text(record, "id"))) return "the record is " + Row.text(record, "id");
    if (event.timestamp() != event.number("ts_ms")) return "ts_ms is not the record's time";
    return null;
  }
}
