// Follows a topic from its beginning and prints each record as a line of JSON.
// On the class path: org.apache.kafka:kafka-clients and org.apache.avro:avro, of Maven Central.
//   KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8081/apis/ccompat/v7 java -cp 'lib/*' Consume.java ipos.deal-status
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

class Consume {
  static final Map<Integer, Schema> schemas = new HashMap<>();

  public static void main(String[] args) throws Exception {
    String topic = args.length > 0 ? args[0] : "ipos.deal-status";
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", System.getenv("KAFKA_BROKERS"),
        "group.id", "example-java-" + topic,
        "auto.offset.reset", "earliest",
        // Java's default shows records of transactions that were aborted, or are not committed yet.
        "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(topic));
      while (true) {
        for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          // A fence, in compacted topics: the publisher's own record, not the delete of one.
          if (record.value() == null && record.headers().lastHeader("owner_epoch") != null) continue;
          // In `<feed>.current` no value means that the record of this key was deleted.
          Object value = record.value() == null ? null : decode(ByteBuffer.wrap(record.value()));
          System.out.println("{\"key\":\"" + record.key() + "\",\"value\":" + value + "}");
        }
      }
    }
  }

  /** The Confluent wire format: a zero byte, the schema's id in four bytes, Avro. `KafkaAvroDeserializer` does the same. */
  static Object decode(ByteBuffer bytes) throws Exception {
    bytes.get();
    Schema schema = schema(bytes.getInt());
    var decoder = DecoderFactory.get().binaryDecoder(bytes.array(), bytes.position(), bytes.remaining(), null);
    return new GenericDatumReader<>(schema).read(null, decoder);
  }

  static Schema schema(int id) throws Exception {
    if (!schemas.containsKey(id)) {
      var url = URI.create(System.getenv("SCHEMA_REGISTRY_URL") + "/schemas/ids/" + id).toURL();
      schemas.put(id, new Schema.Parser().parse(new ObjectMapper().readTree(url).get("schema").asText()));
    }
    return schemas.get(id);
  }
}
