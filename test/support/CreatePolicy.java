package highwater;

import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** What managed clusters refuse; which of it, the name of the topic says. */
public class CreatePolicy implements CreateTopicPolicy {
  public void configure(Map<String, ?> settings) {}

  public void close() {}

  public void validate(RequestMetadata asked) {
    String topic = asked.topic();
    Map<String, String> settings = asked.configs();
    String bytes = settings.get("segment.bytes");
    if (topic.contains("least") && bytes != null && Long.parseLong(bytes) < 52428800)
      throw new PolicyViolationException("Config property 'segment.bytes' with value '" + bytes + "' is below 52428800");
    if (topic.contains("closed"))
      for (String name : settings.keySet())
        if (!name.equals("cleanup.policy") && !name.equals("retention.ms"))
          throw new PolicyViolationException("these settings belong to the provider");
    // As MSK Serverless says it.
    if (topic.contains("listing"))
      for (String name : settings.keySet())
        if (name.startsWith("segment."))
          throw new PolicyViolationException(
              "can't alter topic configuration " + name + ". Only the following are alterable: [message.timestamp.type, retention.ms]");
    if (topic.contains("either") && "compact,delete".equals(settings.get("cleanup.policy")))
      throw new PolicyViolationException("cleanup.policy must be delete or compact");
    if (topic.contains("brief") && "-1".equals(settings.get("retention.ms")))
      throw new PolicyViolationException("retention.ms must be at most 604800000");
    if (topic.contains("copies") && asked.replicationFactor() != 3)
      throw new PolicyViolationException("Topic replication factor must be 3");
  }
}
