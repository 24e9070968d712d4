package highwater.outside;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** All that was read, decoded. */
final class CommittedLog {
  static final List<String> FEEDS = List.of("insights", "analysts", "ipos");
  static final List<String> TRANSITIONS = List.of("ipos.deal-status", "insights.rating-changes");
  static final String FENCE_KEY = "__highwater_fence";

  final SortedMap<String, Integer> partitions;
  final List<String> unreadable = new ArrayList<>();
  final List<Row> rows = new ArrayList<>();

  CommittedLog(TopicReader read, String prefix, Registry registry) {
    partitions = read.partitions();
    for (ConsumerRecord<byte[], byte[]> record : read.records()) {
      String topic = record.topic().substring(prefix.length());
      try {
        rows.add(Row.of(record, topic, registry));
      } catch (Exception error) {
        unreadable.add(topic + "/" + record.partition() + "@" + record.offset() + ": " + error);
      }
    }
  }

  /** By partition and offset. */
  List<Row> topic(String name) {
    return rows.stream().filter(row -> row.topic().equals(name)).toList();
  }

  /** Change events of a feed by incarnation and number. */
  List<Row> changes(String feed) {
    return topic(feed).stream()
        .filter(row -> row.value() != null && row.value().hasField("source"))
        .sorted(Comparator.comparing((Row row) -> row.text("source.incarnation"))
            .thenComparing(row -> row.number("source.seq")))
        .toList();
  }

  /** The latest record of each key, without those that were deleted. */
  Map<String, Row> table(String name) {
    Map<String, Row> latest = topic(name).stream()
        .collect(Collectors.toMap(Row::key, row -> row, (earlier, later) -> later, LinkedHashMap::new));
    latest.values().removeIf(row -> row.value() == null);
    return latest;
  }
}
