import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes the lines of stdin to one partition, in as few batches as it can: WriteLines BROKERS TOPIC CODEC BATCH_BYTES. */
class WriteLines {
  public static void main(String[] args) throws Exception {
    Map<String, Object> config = Map.of(
        "bootstrap.servers", args[0],
        "compression.type", args[2],
        "batch.size", args[3],
        "linger.ms", "5000",
        "key.serializer", StringSerializer.class.getName(),
        "value.serializer", StringSerializer.class.getName());
    try (var producer = new KafkaProducer<String, String>(config);
        var lines = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line; (line = lines.readLine()) != null; ) {
        producer.send(new ProducerRecord<>(args[1], 0, null, line));
      }
      producer.flush();
    }
  }
}
