import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * What Kafka's own producer takes to write events and images of all records, five pages a transaction, with lz4.
 * Usage: java -cp … JavaProducer.java BROKERS TOPIC RECORDS FILE, the file as write-messages.ts makes it.
 */
public class JavaProducer {
  private static final int TRANSACTION = 5_000;

  private record Message(byte[] key, byte[] event, byte[] image) {}

  public static void main(String[] arguments) throws IOException {
    String topic = arguments[1];
    int records = Integer.parseInt(arguments[2]);
    List<Message> messages = new ArrayList<>();
    List<Header> ofEvents;
    List<Header> ofImages;
    try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(arguments[3])))) {
      ofEvents = headers(in);
      ofImages = headers(in);
      for (int left = in.readInt(); left > 0; left--) messages.add(new Message(bytes(in), bytes(in), bytes(in)));
    }
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("transactional.id", topic);
    settings.put("compression.type", "lz4");
    settings.put("batch.size", "262144");
    settings.put("key.serializer", ByteArraySerializer.class.getName());
    settings.put("value.serializer", ByteArraySerializer.class.getName());
    try (var producer = new KafkaProducer<byte[], byte[]>(settings)) {
      producer.initTransactions();
      long cpu = cpuNanos();
      long began = System.nanoTime();
      for (int at = 0; at < records; at += TRANSACTION) {
        producer.beginTransaction();
        for (int i = at; i < Math.min(records, at + TRANSACTION); i++) {
          Message message = messages.get(i % messages.size());
          producer.send(new ProducerRecord<>(topic + ".events", null, message.key, message.event, ofEvents));
          producer.send(new ProducerRecord<>(topic + ".images", null, message.key, message.image, ofImages));
        }
        producer.commitTransaction();
      }
      System.out.printf(
          "{\"records\":%d,\"wallMs\":%.3f,\"cpuMs\":%.3f}%n",
          records, (System.nanoTime() - began) / 1e6, (cpuNanos() - cpu) / 1e6);
    }
  }

  private static List<Header> headers(DataInputStream in) throws IOException {
    List<Header> headers = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) headers.add(new RecordHeader(new String(bytes(in), UTF_8), bytes(in)));
    return headers;
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    return in.readNBytes(in.readInt());
  }

  /** Of all threads of this process. */
  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
