import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/** Runs the statements of a file on a cluster in this JVM and writes, as JSON, the table that each query ends with. */
class RunQueries {
  /** The SQL client's own, which a program says by its configuration. */
  static final Pattern SET = Pattern.compile("SET '(.*)' = '(.*)'");

  public static void main(String[] args) throws Exception {
    String statements = Files.readString(Path.of(args[0]));
    var config = new Configuration();
    config.set(RestOptions.PORT, 0);
    config.set(CoreOptions.DEFAULT_PARALLELISM, 1);
    var workers = new MiniClusterConfiguration.Builder().setConfiguration(config).setNumTaskManagers(1);
    List<Object> results = new ArrayList<>();
    // Of a cluster that lives longer than its jobs, for the last rows of a job are asked for when it has ended.
    try (var cluster = new MiniCluster(workers.setNumSlotsPerTaskManager(2).build())) {
      cluster.start();
      config.set(DeploymentOptions.TARGET, "remote");
      config.set(RestOptions.ADDRESS, "localhost");
      config.set(RestOptions.PORT, cluster.getRestAddress().get().getPort());
      var settings = EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(config).build();
      var tables = TableEnvironment.create(settings);
      for (String statement : statements.split(";\\s*(\\n|$)")) {
        if (statement.isBlank()) continue;
        Matcher set = SET.matcher(statement.strip());
        if (set.matches()) tables.getConfig().set(set.group(1), set.group(2));
        else if (statement.startsWith("SELECT")) results.add(query(tables, statement));
        else tables.executeSql(statement);
      }
    }
    new ObjectMapper().writeValue(Path.of(args[1]).toFile(), results);
  }

  static Object query(TableEnvironment tables, String statement) {
    Map<String, Object> result = new LinkedHashMap<>(Map.of("query", statement));
    List<Object> rows = new ArrayList<>();
    int changes = 0;
    try (var changelog = tables.executeSql(statement).collect()) {
      for (; changelog.hasNext(); changes++) {
        Row row = changelog.next();
        Object values = plain(row);
        boolean isAdded = row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER;
        if (isAdded) rows.add(values);
        else if (!rows.remove(values)) throw new IllegalStateException("retracted but not there: " + row);
      }
      result.put("rows", rows);
      result.put("changes", changes);
    } catch (Exception error) {
      StringBuilder causes = new StringBuilder();
      for (Throwable cause = error; cause != null; cause = cause.getCause()) causes.append(cause).append('\n');
      result.put("error", causes.toString());
    }
    return result;
  }

  static Object plain(Object value) {
    if (value instanceof Row row) {
      List<Object> values = new ArrayList<>();
      for (int i = 0; i < row.getArity(); i++) values.add(plain(row.getField(i)));
      return values;
    }
    return value instanceof Object[] list ? List.of(list) : value;
  }
}
