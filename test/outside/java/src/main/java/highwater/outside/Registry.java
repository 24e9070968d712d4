package highwater.outside;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Avro in the Confluent wire format, with the writer's schema as the registry has it. */
final class Registry {
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<Integer, Schema> schemas = new HashMap<>();
  private final String url;

  Registry(String url) {
    this.url = url;
  }

  GenericRecord decode(byte[] value) throws IOException, InterruptedException {
    ByteBuffer bytes = ByteBuffer.wrap(value);
    if (value.length < 5 || bytes.get() != 0) throw new IOException("not the Confluent wire format");
    Schema schema = schema(bytes.getInt());
    BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, null);
    GenericRecord record = new GenericDatumReader<GenericRecord>(schema).read(null, decoder);
    if (!decoder.isEnd()) throw new IOException("bytes are left behind the record");
    return record;
  }

  private Schema schema(int id) throws IOException, InterruptedException {
    Schema known = schemas.get(id);
    if (known != null) return known;
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/schemas/ids/" + id)).timeout(Duration.ofSeconds(10)).build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new IOException(request.uri() + " answers " + answer.statusCode());
    String text = new ObjectMapper().readTree(answer.body()).get("schema").textValue();
    Schema schema = new Schema.Parser().parse(text);
    schemas.put(id, schema);
    return schema;
  }
}
