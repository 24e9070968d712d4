package highwater.outside;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** A decoded record. */
record Row(
    /** Without the prefix. */
    String topic,
    int partition,
    long offset,
    long timestamp,
    byte[] keyBytes,
    String key,
    Map<String, String> headers,
    /** Null for a tombstone. */
    GenericRecord value) {

  static Row of(ConsumerRecord<byte[], byte[]> record, String topic, Registry registry) throws Exception {
    if (record.key() == null) throw new IllegalArgumentException("it has no key");
    Map<String, String> headers = new TreeMap<>();
    for (Header header : record.headers()) {
      if (headers.put(header.key(), text(header.value())) != null) {
        throw new IllegalArgumentException("header " + header.key() + " stands twice");
      }
    }
    GenericRecord value = record.value() == null ? null : registry.decode(record.value());
    return new Row(topic, record.partition(), record.offset(), record.timestamp(), record.key(), text(record.key()),
        headers, value);
  }

  /** A field as text; null when it is null. A dot leads into a nested record. */
  String text(String path) {
    return text(value, path);
  }

  static String text(GenericRecord record, String path) {
    Object value = record;
    for (String name : path.split("\\.")) {
      if (value == null) return null;
      value = ((GenericRecord) value).get(name);
    }
    return value == null ? null : value.toString();
  }

  long number(String path) {
    return Long.parseLong(text(path));
  }

  GenericRecord before() {
    return (GenericRecord) value.get("before");
  }

  GenericRecord after() {
    return (GenericRecord) value.get("after");
  }

  String place() {
    return topic + "/" + partition + "@" + offset + " " + key;
  }

  /** A decoder of its own refuses what is no UTF-8, which `new String` would let pass. */
  private static String text(byte[] utf8) throws CharacterCodingException {
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString();
  }
}
