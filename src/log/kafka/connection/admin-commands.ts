import type { TopicPartition } from 'kafkajs';
import type { KafkaConfig } from './client';

/** The cluster that a command is for, and this program's login there. */
export type CommandTarget = Pick<KafkaConfig, 'brokers' | 'ssl' | 'sasl'>;

/** A permission of the brokers. */
export interface Access {
  readonly operation: 'CREATE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS' | 'IDEMPOTENT_WRITE' | 'READ' | 'WRITE';
  readonly resource: 'topic' | 'transactional-id' | 'group' | 'cluster';
  /** Names of the topics, ids or groups; empty for the cluster. */
  readonly names: readonly string[];
}

/** Grants a permission to this program's user. The user is a placeholder if a certificate names it. */
export function aclCommand(target: CommandTarget, { operation, resource, names }: Access): string {
  const user = target.sasl?.username ?? 'NAME';
  const on = resource === 'cluster' ? '--cluster' : names.map((name) => `--${resource} ${name}`).join(' ');
  return [
    tool('kafka-acls.sh', target),
    `--add --allow-principal ${quoted(`User:${user}`)} --operation ${nameInTools(operation)} ${on}`,
  ].join(' ');
}

/** Gives topics another value of a setting. */
export function configCommand(
  target: CommandTarget,
  topics: readonly string[],
  setting: string,
  value: string,
): string {
  const listed = value.includes(',') ? `[${value}]` : value;
  const alter = (topic: string) =>
    `${tool('kafka-configs.sh', target)} --alter --entity-type topics --entity-name ${topic} --add-config ${setting}=${listed}`;
  const [first = ''] = topics;
  if (topics.length === 1) return alter(first);
  return `for topic in ${topics.join(' ')}; do ${alter('$topic')}; done`;
}

/** Deletes a topic, with all that is in it. */
export function deleteCommand(target: CommandTarget, topic: string): string {
  return `${tool('kafka-topics.sh', target)} --delete --topic ${topic}`;
}

/** Ends a transaction whose end the brokers have lost. @param offset of its first record in the partition */
export function abortCommand(target: CommandTarget, { topic, partition }: TopicPartition, offset: bigint) {
  return `${tool('kafka-transactions.sh', target)} abort --topic ${topic} --partition ${partition} --start-offset ${offset}`;
}

/** Several commands as one text, which still works if a log line drops the line breaks. */
export function commandLines(commands: readonly string[]): string {
  return commands.join(' &&\n');
}

/** Calls a tool of Kafka's bin folder. A cluster with logins or TLS needs a file of client properties. */
function tool(name: string, { brokers, ssl, sasl }: CommandTarget): string {
  const login = ssl === null && sasl === null ? '' : ' --command-config client.properties';
  return `${name} --bootstrap-server ${brokers[0]}${login}`;
}

/** `DESCRIBE_CONFIGS` is DescribeConfigs for kafka-acls.sh. */
function nameInTools(operation: Access['operation']): string {
  return operation.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());
}

/** For a POSIX shell. Topics and transactional ids have no character that needs it; users may. */
function quoted(text: string): string {
  return /^[\w:.@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
