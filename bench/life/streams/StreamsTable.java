import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Makes a table of Kafka Streams from a topic, in RocksDB and exactly once. Prints how long it took until the table was
 * complete, and how much memory the process then had. The topic itself is the store's changelog.
 * Usage: java -cp … StreamsTable.java BROKERS TOPIC STATE_DIR RECORDS
 * RECORDS: how many are processed until it is complete; 0: it is restored.
 */
public class StreamsTable {
  public static void main(String[] arguments) throws Exception {
    String topic = arguments[1];
    long wanted = Long.parseLong(arguments[3]);
    Properties settings = new Properties();
    settings.put("application.id", "table-of-" + topic);
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("state.dir", arguments[2]);
    settings.put("processing.guarantee", "exactly_once_v2");
    settings.put("topology.optimization", "all");
    settings.put("auto.offset.reset", "earliest");
    settings.put("replication.factor", "1");
    AtomicLong processed = new AtomicLong();
    AtomicLong restored = new AtomicLong();
    CountDownLatch there = new CountDownLatch(1);
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .table(
            topic,
            Consumed.with(Serdes.String(), Serdes.ByteArray()),
            Materialized.<String, byte[], KeyValueStore<Bytes, byte[]>>as("images"))
        .toStream()
        .foreach((key, value) -> {
          if (processed.incrementAndGet() == wanted) there.countDown();
        });
    KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
    streams.setGlobalStateRestoreListener(new StateRestoreListener() {
      public void onRestoreStart(TopicPartition partition, String store, long begin, long end) {}

      public void onBatchRestored(TopicPartition partition, String store, long end, long records) {}

      public void onRestoreEnd(TopicPartition partition, String store, long records) {
        restored.addAndGet(records);
      }
    });
    streams.setStateListener((now, before) -> {
      if (now == KafkaStreams.State.RUNNING && wanted == 0) there.countDown();
    });
    long began = System.nanoTime();
    streams.start();
    there.await();
    double seconds = (System.nanoTime() - began) / 1e9;
    System.gc();
    Thread.sleep(1_000);
    System.out.printf(
        Locale.ROOT,
        "{\"seconds\":%.2f,\"restored\":%d,\"rss\":%d,\"peak\":%d}%n",
        seconds, restored.get(), kilobytes("VmRSS") * 1024, kilobytes("VmHWM") * 1024);
    // Else the next one waits until this one's session has timed out.
    streams.close(
        CloseOptions.timeout(Duration.ofMinutes(2))
            .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    System.exit(0);
  }

  private static long kilobytes(String name) throws Exception {
    for (String line : Files.readAllLines(Path.of("/proc/self/status")))
      if (line.startsWith(name + ":")) return Long.parseLong(line.replaceAll("\\D", ""));
    throw new IllegalStateException(name);
  }
}
