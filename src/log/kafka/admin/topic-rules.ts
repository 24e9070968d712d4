import type { FeedTopics, SharedTopicSpec, TopicSpec } from '../../commit-log';

/** The purpose of a topic: it decides what may be deleted from it. */
export type TopicRole = 'changes' | 'current' | 'source-offset' | 'dead-letters' | 'shared';

export interface RoledTopic {
  readonly role: TopicRole;
  readonly spec: TopicSpec | SharedTopicSpec;
}

/** Every topic of a feed once; one name in two roles stays twice. */
export function roledTopics(topics: FeedTopics): RoledTopic[] {
  const { changes, transitions, current, deadLetters, sourceOffset } = topics;
  const all: RoledTopic[] = [
    ...[changes, ...transitions].map((spec) => ({ role: 'changes' as const, spec })),
    { role: 'current', spec: current },
    { role: 'dead-letters', spec: deadLetters },
    { role: 'source-offset', spec: sourceOffset },
  ];
  return [...new Map(all.map((topic) => [`${topic.role} ${topic.spec.name}`, topic])).values()];
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mebibyte = 1_048_576;

/**
 * Settings of a topic that the program creates. Settings that a cluster's operator decides for all topics, such as
 * replicas and compression, are left to the brokers.
 */
export function settingsOf(role: TopicRole): Readonly<Record<string, string>> {
  return { ...settings[role], 'message.timestamp.type': 'CreateTime' };
}

/** As `settingsOf`, with the settings that the topic itself needs. */
export function settingsFor({ role, spec }: RoledTopic): Readonly<Record<string, string>> {
  const own = 'retentionMs' in spec ? { 'retention.ms': String(spec.retentionMs) } : {};
  return { ...settingsOf(role), ...own };
}

const settings: Readonly<Record<TopicRole, Readonly<Record<string, string>>>> = {
  changes: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' },
  // Kafka never compacts the newest segment, so its size bounds how many stale images a start reads.
  current: { 'cleanup.policy': 'compact', 'segment.bytes': `${64 * mebibyte}` },
  // One record per transaction, and only the last one counts.
  'source-offset': {
    'cleanup.policy': 'compact',
    'segment.bytes': `${4 * mebibyte}`,
    'segment.ms': `${hourMs}`,
    'min.cleanable.dirty.ratio': '0.1',
  },
  'dead-letters': { 'cleanup.policy': 'compact,delete', 'retention.ms': `${90 * dayMs}` },
  shared: { 'cleanup.policy': 'delete' },
};

/**
 * Changes the settings that the cluster refused for a new topic. Managed clusters have policies: a least size of segments, settings
 * that only the provider may choose. Needed settings stay: the cleanup policy, and a retention without end for events.
 * @param asked the settings that were refused; changed in place
 * @param reason of the brokers. The setting that it names first is meant: MSK Serverless then lists all that it does allow
 * @returns whether there is anything else to ask for now
 */
export function ease(role: TopicRole, asked: Record<string, string>, reason: string): boolean {
  const needed = role === 'changes' ? ['cleanup.policy', 'retention.ms'] : ['cleanup.policy'];
  const optional = Object.keys(asked).filter((setting) => !needed.includes(setting));
  const named = Object.keys(asked).filter((setting) => reason.includes(setting));
  const [first] = named.sort((a, b) => reason.indexOf(a) - reason.indexOf(b));
  const refused = first === undefined ? optional : optional.filter((setting) => setting === first);
  for (const setting of refused) {
    // Larger ones still bound what a start reads, and no known policy refuses them.
    const isSmall = setting === 'segment.bytes' && Number(asked[setting]) < largestOffsetSegment;
    if (isSmall) asked[setting] = String(largestOffsetSegment);
    else delete asked[setting];
  }
  if (refused.length > 0) return true;
  if (role !== 'dead-letters' || asked['cleanup.policy'] === 'compact') return false;
  asked['cleanup.policy'] = 'compact';
  return true;
}

/** The effect on a new topic if it is without this setting. */
export function effectOf(role: TopicRole, setting: string): string {
  if (setting === 'message.timestamp.type') return 'its records may carry the time of the broker';
  if (role === 'changes') return 'the cluster may limit the history';
  const isOfReading = /^(segment|min\.cleanable)/.test(setting);
  return isOfReading ? 'each start may read more' : 'the cluster decides how long records stay';
}

/** A setting of an existing topic, and the value that it should have. */
export interface SettingFinding {
  readonly topic: string;
  /** Kafka's name, or `partitions`, which only a new topic can change. */
  readonly setting: string;
  readonly found: string;
  readonly wanted: string;
  /** The consequence. */
  readonly consequence: string;
}

export interface Verdict {
  /** The feed must not write there. */
  readonly wrong: readonly SettingFinding[];
  /** Somebody may have chosen it so. */
  readonly risky: readonly SettingFinding[];
}

/**
 * How a topic that exists is kept, against how it must be.
 * @param found all of its settings, including the brokers' defaults
 */
export function judge(
  { role, spec }: RoledTopic,
  found: ReadonlyMap<string, string>,
  { partitions, replicationFactor }: { readonly partitions: number; readonly replicationFactor: number },
): Verdict {
  const finding = (setting: string, wanted: string, consequence: string): SettingFinding[] => {
    const value = found.get(setting);
    return value === undefined ? [] : [{ topic: spec.name, setting, found: value, wanted, consequence }];
  };
  const is = (setting: string, value: string) => found.get(setting)?.toLowerCase() === value;

  const policy = new Set((found.get('cleanup.policy') ?? '').split(',').map((part) => part.trim()));
  const wrongPolicy = found.has('cleanup.policy') ? policyFault(role, policy) : null;
  const wrong =
    wrongPolicy === null ? [] : finding('cleanup.policy', settings[role]['cleanup.policy']!, wrongPolicy);
  if (role === 'source-offset' && partitions !== spec.partitions) {
    const consequence = 'the positions of the feed must lie in one order';
    const [found, wanted] = [String(partitions), String(spec.partitions)];
    wrong.push({ topic: spec.name, setting: 'partitions', found, wanted, consequence });
  }

  const risky: SettingFinding[] = [];
  const risk = (isRisk: boolean, setting: string, wanted: string, consequence: string): void => {
    if (isRisk) risky.push(...finding(setting, wanted, consequence));
  };
  const expires = role === 'changes' && policy.has('delete');
  for (const setting of ['retention.ms', 'retention.bytes'])
    risk(expires && !is(setting, '-1'), setting, '-1', risks.retention);
  const isLarge = role === 'source-offset' && Number(found.get('segment.bytes')) > largestOffsetSegment;
  // As much as is fine: clusters that refuse small segments take these.
  risk(isLarge, 'segment.bytes', `${largestOffsetSegment}`, risks.segment);
  for (const side of ['before', 'after', 'difference']) {
    const setting = `message.timestamp.${side}.max.ms`;
    const isShort = Number(found.get(setting)) < hourMs && is('message.timestamp.type', 'createtime');
    risk(isShort, setting, `${hourMs}`, risks.clock);
  }
  risk(is('message.timestamp.type', 'logappendtime'), 'message.timestamp.type', 'CreateTime', risks.time);
  const isUnclean = is('unclean.leader.election.enable', 'true');
  risk(isUnclean, 'unclean.leader.election.enable', 'false', risks.leader);
  risk(replicationFactor >= 3 && is('min.insync.replicas', '1'), 'min.insync.replicas', '2', risks.copies);
  return { wrong, risky };
}

const largestOffsetSegment = 64 * mebibyte;
const risks = {
  retention: 'older events disappear, and with them the history that a new consumer reads',
  segment: 'each start reads the newest segment, uncompacted',
  clock: "records are refused if this machine's clock is further from the brokers'",
  time: 'records carry the time of the broker, not that of the observation',
  leader: 'a replica that lags may become leader, and the records that it lacks are lost',
  copies: 'a transaction counts as committed with one copy, and is lost with its disk',
};

function policyFault(role: TopicRole, policy: ReadonlySet<string>): string | null {
  const isCompacted = policy.has('compact');
  if (role === 'dead-letters') return isCompacted ? null : 'it is kept as a topic of events is';
  if (role === 'changes') return isCompacted ? 'all but the last event of each key would be lost' : null;
  if (role === 'shared') return isCompacted ? 'all but the last record of each key would be lost' : null;
  if (policy.has('delete')) return 'the state of the feed would be deleted with its age';
  return isCompacted ? null : 'the state of the feed would grow without end';
}
