import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import { type CommandTarget, commandLines, configCommand, deleteCommand } from '../connection/admin-commands';
import { grouped } from '../connection/cluster';
import { forbidden } from '../connection/kafka-failure';
import type { TopicDeps, TopicReport } from './topic-admin';
import type { SettingFinding } from './topic-rules';

/** One line for people: `cleanup.policy of ipos is compact, expected delete: all but the last event …`. */
export function findingText({ topic, setting, found, wanted, consequence }: SettingFinding): string {
  return `${setting} of ${topic} is ${found === '' ? 'empty' : found}, expected ${wanted}: ${consequence}`;
}

/** The commands that correct settings. One that only a new topic can have deletes the topic, which is created at the next start. */
export function fixes(cluster: CommandTarget, wrong: readonly SettingFinding[]): string {
  const anew = new Set(wrong.filter(({ setting }) => setting === 'partitions').map(({ topic }) => topic));
  const commands = wrong
    .filter(({ topic, setting }) => setting === 'partitions' || !anew.has(topic))
    .map(({ topic, setting, wanted }) =>
      setting === 'partitions'
        ? deleteCommand(cluster, topic)
        : configCommand(cluster, [topic], setting, wanted),
    );
  const also =
    'If the feed has published already, delete its topic .current, too: all records then come as reads (op r).\n';
  return `${anew.size === 0 ? '' : also}${commandLines(commands)}`;
}

export function mismatch(whose: string, wrong: readonly SettingFinding[], cluster: CommandTarget) {
  const number = wrong.length === 1 ? 'a topic is kept' : 'topics are kept';
  const what = `${whose}: ${number} otherwise than is needed: ${wrong.map(findingText).join('; ')}`;
  return new HighwaterError('LOG_TOPIC_MISMATCH', what, {
    now: 'The feed is not published, and the topics were left as they are.',
    remedy: `Give the feed topics of its own (highwater.yaml, HIGHWATER_TOPIC_PREFIX), or, if nobody else uses these:\n${fixes(cluster, wrong)}`,
  });
}

/** One line for a setting, for all topics that have it so. */
export function warn(
  feed: string,
  reports: readonly TopicReport[],
  { cluster, logger, warned }: TopicDeps & { readonly logger: Logger; readonly warned: Set<string> },
): void {
  const once = (message: string, facts: { readonly do: string }): void => {
    const key = `${feed} ${message}`;
    if (warned.has(key)) return;
    warned.add(key);
    logger.warn(message, { feed, ...facts });
  };
  for (const finding of byFinding(reports)) {
    const { topics, setting, wanted } = finding;
    once(riskText(finding), { do: configCommand(cluster, topics, setting, wanted) });
  }
  const unseen = reports.filter(({ settings }) => settings === null).map(({ spec }) => spec.name);
  if (unseen.length > 0) {
    const access = { operation: 'DESCRIBE_CONFIGS', resource: 'topic', names: unseen } as const;
    const { message, remedy } = forbidden('verifying the settings of topics', access, cluster);
    once(`${message}. They are taken for right`, { do: remedy });
  }
}

/** A finding that several topics share. */
export type SharedFinding = Omit<SettingFinding, 'topic'> & { readonly topics: readonly string[] };

/** `retention.ms is 604800000 on ipos, recommended -1: older events disappear …` */
export function riskText({ setting, found, wanted, consequence, topics }: SharedFinding): string {
  return `${setting} is ${found} on ${topics.join(', ')}, recommended ${wanted}: ${consequence}`;
}

/** Risky settings, each once. */
export function byFinding(reports: readonly TopicReport[]): SharedFinding[] {
  const risky = reports.flatMap(({ verdict }) => verdict.risky);
  const groups = grouped(risky, ({ setting, found, consequence }) => [setting, found, consequence].join(' '));
  return [...groups.values()].map((own) => ({ ...own[0]!, topics: own.map(({ topic }) => topic) }));
}
