import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads what is committed in topics, to their ends, and prints a line for each: how many records and different keys there
 * are, and when the broker appended the record that completed the set of keys, in Unix milliseconds.
 * Usage: java -cp … ReadTopics.java BROKERS TOPIC…
 */
public class ReadTopics {
  public static void main(String[] arguments) {
    for (int i = 1; i < arguments.length; i++) read(arguments[0], arguments[i]);
  }

  private static void read(String brokers, String topic) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", brokers);
    settings.put("isolation.level", "read_committed");
    settings.put("enable.auto.commit", "false");
    settings.put("fetch.max.bytes", "67108864");
    settings.put("max.partition.fetch.bytes", "16777216");
    settings.put("max.poll.records", "20000");
    Map<String, Long> firstSeen = new HashMap<>();
    long records = 0;
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(one -> new TopicPartition(topic, one.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          // No record but a mark of its owner, or a deletion.
          if (record.value() == null) continue;
          records++;
          firstSeen.merge(record.key(), record.timestamp(), Math::min);
        }
      }
    }
    long completed = firstSeen.values().stream().mapToLong(Long::longValue).max().orElse(0);
    System.out.printf(
        "{\"topic\":\"%s\",\"records\":%d,\"keys\":%d,\"completedMs\":%d}%n", topic, records, firstSeen.size(), completed);
  }
}
