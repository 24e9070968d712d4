package highwater.outside;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Reads every topic of an installation with Kafka's own consumer and Avro's own decoder, and compares with the API.
 *
 * <p>Arguments: brokers, registry, prefix, file of the truth, file for the report. Prints a line for each check, `ok` or
 * `FAIL`, and ends with 1 when one has failed.
 */
public final class ReadTopics {
  private static final int PROBLEMS_SHOWN = 5;

  private ReadTopics() {}

  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    JsonNode truth = json.readTree(new File(args[3]));
    CommittedLog log = new CommittedLog(TopicReader.read(args[0], args[2]), args[2], new Registry(args[1]));
    List<Check> checks = List.of(
        RecordChecks.readable(log),
        RecordChecks.partitions(log),
        RecordChecks.headers(log),
        ChangeChecks.sequence(log),
        ChangeChecks.once(log),
        ChangeChecks.chain(log),
        TableChecks.tables(log),
        TableChecks.truth(log, truth));

    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Map<String, List<String>> found = new TreeMap<>();
    for (Check check : checks) {
      List<String> problems = check.problems();
      found.put(check.name(), problems);
      out.println((problems.isEmpty() ? "ok" : "FAIL") + "\t" + check.name() + "\t" + check.summary());
      problems.stream().limit(PROBLEMS_SHOWN).forEach(problem -> out.println("\t" + problem));
      if (problems.size() > PROBLEMS_SHOWN) out.println("\tand " + (problems.size() - PROBLEMS_SHOWN) + " more");
    }
    json.writeValue(new File(args[4]), Map.of("problems", found));
    System.exit(checks.stream().allMatch(check -> check.problems().isEmpty()) ? 0 : 1);
  }
}
