package highwater.outside;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Committed records of all topics of an installation, without a group, from the beginning to the end as it is now. */
record TopicReader(SortedMap<String, Integer> partitions, List<ConsumerRecord<byte[], byte[]>> records) {
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  static TopicReader read(String brokers, String prefix) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", brokers);
    settings.put("isolation.level", "read_committed");
    settings.put("auto.offset.reset", "none");
    settings.put("enable.auto.commit", false);
    settings.put("allow.auto.create.topics", false);
    settings.put("max.poll.records", 5_000);
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      SortedMap<String, Integer> partitions = new TreeMap<>();
      List<TopicPartition> all = new ArrayList<>();
      consumer.listTopics().forEach((topic, infos) -> {
        if (!topic.startsWith(prefix)) return;
        partitions.put(topic.substring(prefix.length()), infos.size());
        infos.forEach(info -> all.add(new TopicPartition(topic, info.partition())));
      });
      if (all.isEmpty()) throw new IllegalStateException("no topic begins with " + prefix);
      return new TopicReader(partitions, readToEnds(consumer, all));
    }
  }

  private static List<ConsumerRecord<byte[], byte[]>> readToEnds(
      KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> all) {
    consumer.assign(all);
    consumer.seekToBeginning(all);
    Map<TopicPartition, Long> ends = consumer.endOffsets(all);
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    long last = System.nanoTime() + DEADLINE.toNanos();
    // The position passes aborted records and the marks of transactions, too.
    while (all.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
      if (System.nanoTime() > last) throw new IllegalStateException(ends + " was not reached in " + DEADLINE);
      consumer.poll(Duration.ofMillis(100)).forEach(records::add);
    }
    records.sort(Comparator.comparing((ConsumerRecord<byte[], byte[]> one) -> one.topic())
        .thenComparing(ConsumerRecord::partition)
        .thenComparing(ConsumerRecord::offset));
    return records;
  }
}
