import { setTimeout as sleep } from 'node:timers/promises';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { FeedTopics, SharedTopicSpec } from '../../commit-log';
import { topicLost } from '../../topics';
import { DEFAULT_MESSAGE_BYTES } from '../connection/kafka-failure';
import {
  type Asking,
  describe,
  eventually,
  inspect,
  NotYet,
  type TopicDeps,
  type TopicReport,
  turnUpWithinMs,
  withAdmin,
} from './topic-admin';
import { create, LEFT_OUT_REMEDY } from './topic-creation';
import { mismatch, warn } from './topic-findings';
import { type RoledTopic, roledTopics } from './topic-rules';

/** A topic that exists and may be written to. */
export interface TopicLayout {
  readonly partitions: number;
  /** Size of the largest record that it accepts: key, value and headers, uncompressed. */
  readonly maxRecordBytes: number;
}

/**
 * Creates the topics of a feed that are missing and verifies the others.
 * @param deps `warned` holds the warnings so far, because a feed is acquired more than once
 * @returns every topic by its name
 * @throws HighwaterError LOG_TOPIC_MISMATCH with every wrong setting and the commands that fix them; KAFKA_FORBIDDEN,
 * KAFKA_UNREACHABLE, LOG_FAILED; the signal's reason
 */
export async function prepareTopics(
  topics: FeedTopics,
  deps: TopicDeps & { readonly logger: Logger; readonly warned: Set<string> },
): Promise<ReadonlyMap<string, TopicLayout>> {
  const wanted = roledTopics(topics);
  refuseSharedNames(topics.feed, wanted);
  const reports = await prepare(`feed ${topics.feed}`, wanted, deps, (leftOut) =>
    deps.logger.warn(leftOut, { feed: topics.feed, do: LEFT_OUT_REMEDY }),
  );
  warn(topics.feed, reports, deps);
  return layoutsOf(reports);
}

/**
 * Looks at the topics of a feed that is being published: somebody may have changed their settings. Creates nothing.
 * @returns as `prepareTopics`; null if the settings of a topic may not be seen
 * @throws as `prepareTopics`, and HighwaterError LOG_TOPIC_LOST if a topic is missing
 */
export async function verifyTopics(
  topics: FeedTopics,
  deps: Parameters<typeof prepareTopics>[1],
): Promise<ReadonlyMap<string, TopicLayout> | null> {
  const wanted = roledTopics(topics);
  const reports = await withAdmin(deps, (asking) =>
    settled(new Map(), asking, async () => inspect(wanted, await describe(wanted, asking), asking)),
  );
  const missing = reports.find(({ exists }) => exists === null);
  if (missing !== undefined) throw topicLost(missing.spec.name);
  refuseWrong(`feed ${topics.feed}`, reports, deps);
  warn(topics.feed, reports, deps);
  return reports.some(({ settings }) => settings === null) ? null : layoutsOf(reports);
}

const layoutsOf = (reports: readonly TopicReport[]): ReadonlyMap<string, TopicLayout> =>
  new Map(reports.map((report) => [report.spec.name, layout(report)]));

/** Creates a topic that belongs to no feed when it is missing, else verifies it. @throws as prepareTopics */
export async function prepareSharedTopic(spec: SharedTopicSpec, deps: TopicDeps): Promise<TopicLayout> {
  const [report] = await prepare(`topic ${spec.name}`, [{ role: 'shared', spec }], deps);
  return layout(report!);
}

/**
 * @param whose for people: `feed ipos`
 * @param onLeftOut is told of the settings that the cluster refuses
 */
async function prepare(
  whose: string,
  wanted: readonly RoledTopic[],
  deps: TopicDeps,
  onLeftOut: (leftOut: string) => void = () => undefined,
): Promise<TopicReport[]> {
  const reports = await withAdmin(deps, async (asking) => {
    const described = await describe(wanted, asking);
    const missing = wanted.filter(({ spec }) => described.get(spec.name) === null);
    if (missing.length === 0) return settled(new Map(), asking, () => inspect(wanted, described, asking));
    const { settings, leftOut } = await create(whose, missing, asking);
    if (leftOut !== null) onLeftOut(leftOut);
    // Until all of their partitions have a leader.
    await eventually(asking.signal, 'topics that were created did not turn up', async () => {
      for (const [name, shape] of await describe(missing, asking)) {
        if (shape === null) throw new NotYet(`${name} is unknown`);
        described.set(name, shape);
      }
    });
    return settled(settings, asking, () => inspect(wanted, described, asking));
  });
  refuseWrong(whose, reports, deps);
  return reports;
}

function refuseWrong(whose: string, reports: readonly TopicReport[], { cluster }: TopicDeps): void {
  const wrong = reports.flatMap(({ verdict }) => verdict.wrong);
  if (wrong.length > 0) throw mismatch(whose, wrong, cluster);
}

/** The existing topics of a feed, or one shared topic. Changes nothing. @throws as `prepareTopics`, without LOG_TOPIC_MISMATCH */
export async function inspectTopics(topics: FeedTopics | SharedTopicSpec, deps: TopicDeps) {
  const wanted: RoledTopic[] = 'feed' in topics ? roledTopics(topics) : [{ role: 'shared', spec: topics }];
  return withAdmin(deps, async (asking) => inspect(wanted, await describe(wanted, asking), asking));
}

function refuseSharedNames(feed: string, wanted: readonly RoledTopic[]): void {
  const roles = new Map<string, string>();
  for (const { role, spec } of wanted) {
    const other = roles.get(spec.name);
    if (other !== undefined) {
      const what = `the topic ${spec.name} of feed ${feed} is meant for two uses: ${other} and ${role}`;
      throw new HighwaterError('LOG_TOPIC_MISMATCH', what);
    }
    roles.set(spec.name, role);
  }
}

/**
 * A broker that knows of a new topic may not know its settings yet, and names the defaults. So a wrong setting is read again. A
 * topic that an instance has just created is read until it shows the settings of its creation.
 */
async function settled(
  fresh: ReadonlyMap<string, Readonly<Record<string, string>>>,
  { signal }: Asking,
  look: () => Promise<TopicReport[]>,
): Promise<TopicReport[]> {
  const began = Date.now();
  for (;;) {
    const reports = await look();
    const pastMs = Date.now() - began;
    const isOpen = ({ spec, exists, settings, verdict }: TopicReport): boolean => {
      const asked = fresh.get(spec.name);
      if (asked === undefined) return (exists === null || verdict.wrong.length > 0) && pastMs < lookAgainMs;
      const hasAll =
        settings === null || Object.entries(asked).every(([name, value]) => settings.get(name) === value);
      return !hasAll && pastMs < turnUpWithinMs;
    };
    if (!reports.some(isOpen)) return reports;
    await sleep(200, undefined, { signal });
  }
}

const lookAgainMs = 3_000;

/**
 * The brokers count the batch as it comes, compressed. A batch of one record adds its framing; a codec that finds nothing to
 * save adds less than a thousandth.
 */
function layout({ exists, settings }: TopicReport): TopicLayout {
  const told = Number(settings?.get('max.message.bytes') ?? Number.NaN);
  const limit = Number.isInteger(told) && told > 0 ? told : DEFAULT_MESSAGE_BYTES;
  const maxRecordBytes = Math.max(limit - 1_024 - Math.ceil(limit / 1_000), 1);
  return { partitions: exists?.partitions ?? 0, maxRecordBytes };
}
