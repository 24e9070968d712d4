import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { warmStart } from '../../tools/servers/kafka';
import { DEADLINE_MS } from './until';

/** Kafka's own command line tools, by the names that they have in its bin folder. */
const mainClasses: Readonly<Record<string, string>> = {
  'kafka-configs.sh': 'kafka.admin.ConfigCommand',
  'kafka-topics.sh': 'org.apache.kafka.tools.TopicCommand',
  'kafka-transactions.sh': 'org.apache.kafka.tools.TransactionsCommand',
  'kafka-acls.sh': 'org.apache.kafka.tools.AclCommand',
  'kafka-consumer-groups.sh': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
  'kafka-console-consumer.sh': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
};

export interface KafkaToolsOptions {
  /** For the tools' bin folder; their working directory too. */
  readonly folder: string;
  /** Lands in `client.properties` there. */
  readonly login?: { readonly username: string; readonly password: string };
}

/** Runs lines as a person would type them, in a shell. @throws Error with what a tool said, when it fails */
export async function kafkaTools({
  folder,
  login,
}: KafkaToolsOptions): Promise<(lines: string) => Promise<string>> {
  const [java, { kafka }] = [await findJava(), await artefacts()];
  const { classes } = await warmStart(kafka);
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, mainClass] of Object.entries(mainClasses)) {
    const options = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel=error';
    writeFileSync(
      path.join(bin, name),
      `#!/bin/sh\nexec '${java}' ${options} '-XX:SharedArchiveFile=${classes}' -cp '${kafka}/*' ${mainClass} "$@"\n`,
    );
    chmodSync(path.join(bin, name), 0o755);
  }
  if (login !== undefined) {
    const module = 'org.apache.kafka.common.security.plain.PlainLoginModule';
    const properties = [
      'security.protocol=SASL_PLAINTEXT',
      'sasl.mechanism=PLAIN',
      `sasl.jaas.config=${module} required username="${login.username}" password="${login.password}";`,
    ];
    writeFileSync(path.join(folder, 'client.properties'), properties.join('\n'));
  }
  return async (lines) => {
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const running = promisify(execFile)('/bin/sh', ['-euc', lines], {
      cwd: folder,
      env,
      timeout: DEADLINE_MS,
    });
    return (await running).stdout;
  };
}
