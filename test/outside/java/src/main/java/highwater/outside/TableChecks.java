package highwater.outside;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** The table of each feed against its events, and against what the API shows. */
final class TableChecks {
  /** A text of each feed that moves. */
  private static final Map<String, String> COMPARED =
      Map.of("insights", "rating", "analysts", "name_full", "ipos", "deal_status");

  private TableChecks() {}

  static Check tables(CommittedLog log) {
    List<String> problems = new ArrayList<>();
    int count = 0;
    for (String feed : CommittedLog.FEEDS) {
      Map<String, Row> latest = new HashMap<>();
      for (Row event : log.changes(feed)) latest.put(event.key(), event);
      Map<String, Row> table = log.table(feed + ".current");
      for (Row event : latest.values()) {
        Row row = table.remove(event.key());
        if (!Objects.equals(event.after(), row == null ? null : row.value())) {
          problems.add(feed + ".current " + event.key() + " is not the after of " + event.text("event_id"));
        }
        if (event.after() != null) count++;
      }
      for (String key : table.keySet()) problems.add(feed + ".current " + key + ": no event tells of it");
    }
    return new Check("tables", count + " rows, each the latest after", problems);
  }

  static Check truth(CommittedLog log, JsonNode truth) {
    List<String> problems = new ArrayList<>();
    int count = 0;
    for (String feed : CommittedLog.FEEDS) {
      JsonNode shown = truth.get(feed).get("records");
      Set<String> times = new HashSet<>();
      for (JsonNode version : truth.get(feed).get("versions")) {
        times.add(version.get("id").asText() + " " + seconds(version));
      }
      Map<String, Row> table = log.table(feed + ".current");
      Set<String> keys = new TreeSet<>(table.keySet());
      shown.fieldNames().forEachRemaining(keys::add);
      for (String key : keys) {
        Row row = table.get(key);
        JsonNode record = shown.get(key);
        String place = feed + ".current " + key;
        if (row == null || record == null) {
          problems.add(place + (row == null ? " is not there" : " is no record of the API"));
          continue;
        }
        count++;
        long updated = row.number("updated");
        if (updated > seconds(record) || !times.contains(key + " " + updated)) {
          problems.add(place + ": updated " + updated + ", the API shows " + seconds(record));
        }
        String text = record.path(COMPARED.get(feed)).asText("");
        String found = row.text(COMPARED.get(feed));
        if (!text.equals(found == null ? "" : found)) {
          problems.add(place + ": " + COMPARED.get(feed) + " is " + found + ", the API shows " + text);
        }
      }
    }
    return new Check("truth", count + " records as the API shows them", problems);
  }

  private static long seconds(JsonNode record) {
    double updated = record.get("updated").doubleValue();
    return (long) Math.floor(updated > 1e11 ? updated / 1000 : updated);
  }
}
