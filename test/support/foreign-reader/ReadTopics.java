import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads committed records with Kafka's own consumer, without a group. It takes commands on stdin, one a line, their words
 * separated by tabs:
 *
 * <pre>
 * read TOPIC...   what is new in these topics (NAME, or PREFIX* for all that begin so), up to their ends as of now; a topic
 *                 that is not there is empty
 * open TOPIC...   counts the partitions of these topics in which a transaction is open now
 * rewind          the next read begins at the beginning again
 * </pre>
 *
 * Records are written to stdout as JSON, one a line; bytes in base64. A line {"end": COUNT} or {"error": TEXT in base64} ends
 * the answer to each command. It ends with its stdin.
 */
public final class ReadTopics {
  private static final Base64.Encoder BASE64 = Base64.getEncoder();

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Admin admin;
  private final PrintStream out;
  private final Duration deadline;

  private ReadTopics(KafkaConsumer<byte[], byte[]> consumer, Admin admin, PrintStream out, Duration deadline) {
    this.consumer = consumer;
    this.admin = admin;
    this.out = out;
    this.deadline = deadline;
  }

  /** Arguments: the brokers to begin with, and how long one command may take, in ms. */
  public static void main(String[] args) throws Exception {
    Duration deadline = Duration.ofMillis(Long.parseLong(args[1]));
    Properties settings = new Properties();
    settings.put("bootstrap.servers", args[0]);
    settings.put("isolation.level", "read_committed");
    settings.put("auto.offset.reset", "none");
    settings.put("enable.auto.commit", false);
    settings.put("allow.auto.create.topics", false);
    settings.put("default.api.timeout.ms", (int) deadline.toMillis());
    settings.put("request.timeout.ms", (int) Math.min(5_000, deadline.toMillis()));
    settings.put("reconnect.backoff.max.ms", 200);
    settings.put("metadata.max.age.ms", 5_000);
    settings.put("max.poll.records", 10_000);
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes);
        Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      ReadTopics reader = new ReadTopics(consumer, admin, out, deadline);
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        reader.answer(line.split("\t"));
      }
    }
  }

  private void answer(String[] words) throws InterruptedException {
    try {
      int count = 0;
      switch (words[0]) {
        case "read" -> count = read(topics(Arrays.asList(words).subList(1, words.length)));
        case "open" -> count = open(topics(Arrays.asList(words).subList(1, words.length)));
        case "rewind" -> consumer.assign(List.of());
        default -> throw new IllegalArgumentException("no such command: " + words[0]);
      }
      out.println("{\"end\":" + count + "}");
    } catch (RuntimeException | ExecutionException | TimeoutException error) {
      out.println("{\"error\":" + base64(error.toString().getBytes(StandardCharsets.UTF_8)) + "}");
    }
    out.flush();
  }

  private Set<String> topics(Collection<String> wanted) {
    Set<String> existing = consumer.listTopics().keySet();
    Set<String> topics = new TreeSet<>();
    for (String name : wanted) {
      String prefix = name.endsWith("*") ? name.substring(0, name.length() - 1) : null;
      existing.stream()
          .filter(topic -> prefix == null ? topic.equals(name) : topic.startsWith(prefix))
          .forEach(topics::add);
    }
    return topics;
  }

  /** Committed records end before the last one that is written: the markers of a transaction are not all there. */
  private int open(Set<String> topics) throws InterruptedException, ExecutionException, TimeoutException {
    Map<TopicPartition, Long> committed = consumer.endOffsets(partitions(topics));
    Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
    committed.keySet().forEach(one -> latest.put(one, OffsetSpec.latest()));
    var written = admin.listOffsets(latest).all().get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    return (int) committed.entrySet().stream()
        .filter(one -> one.getValue() < written.get(one.getKey()).offset())
        .count();
  }

  private List<TopicPartition> partitions(Set<String> topics) {
    List<TopicPartition> all = new ArrayList<>();
    for (String topic : topics) {
      for (PartitionInfo partition : consumer.partitionsFor(topic)) {
        all.add(new TopicPartition(topic, partition.partition()));
      }
    }
    return all;
  }

  /** The records between where the last read ended and the ends as of now. */
  private int read(Set<String> topics) {
    List<TopicPartition> wanted = partitions(topics);
    Set<TopicPartition> known = consumer.assignment();
    Set<TopicPartition> all = new HashSet<>(known);
    all.addAll(wanted);
    List<TopicPartition> added = wanted.stream().filter(one -> !known.contains(one)).toList();
    // What is assigned keeps its position.
    consumer.assign(all);
    // Of none it would mean of all.
    if (!added.isEmpty()) consumer.seekToBeginning(added);
    consumer.pause(all);
    consumer.resume(wanted);

    // With read_committed: behind the last record that is not part of an open transaction.
    Map<TopicPartition, Long> ends = consumer.endOffsets(wanted);
    long last = System.nanoTime() + deadline.toNanos();
    int count = 0;
    for (TopicPartition one : wanted) {
      if (consumer.position(one) >= ends.get(one)) consumer.pause(List.of(one));
    }
    while (consumer.paused().size() < all.size()) {
      if (System.nanoTime() > last) {
        throw new IllegalStateException("the ends " + ends + " were not reached in " + deadline);
      }
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
        // Committed since the read began: for the next one.
        if (record.offset() >= ends.get(partition)) continue;
        out.println(json(record));
        count++;
      }
      for (TopicPartition one : wanted) {
        if (consumer.paused().contains(one) || consumer.position(one) < ends.get(one)) continue;
        consumer.pause(List.of(one));
        consumer.seek(one, ends.get(one));
      }
    }
    return count;
  }

  private static String json(ConsumerRecord<byte[], byte[]> record) {
    StringBuilder headers = new StringBuilder();
    for (Header header : record.headers()) {
      String name = base64(header.key().getBytes(StandardCharsets.UTF_8));
      headers.append(headers.length() == 0 ? "[" : ",[");
      headers.append(name).append(',').append(base64(header.value())).append(']');
    }
    // A topic's name has letters, digits, dots, dashes and underscores: nothing to escape.
    return "{\"topic\":\"" + record.topic() + "\",\"partition\":" + record.partition()
        + ",\"offset\":" + record.offset() + ",\"timestamp\":" + record.timestamp()
        + ",\"key\":" + base64(record.key()) + ",\"headers\":[" + headers + "]"
        + ",\"value\":" + base64(record.value()) + "}";
  }

  private static String base64(byte[] bytes) {
    return bytes == null ? "null" : '"' + BASE64.encodeToString(bytes) + '"';
  }
}
