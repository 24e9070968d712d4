import { type Config, loadConfig } from '../../config/load-config';
import { groupOf } from '../../delivery/delivery';
import { HighwaterError } from '../../errors';
import type { ConsumerLog, GroupPlace, TopicEnds } from '../../log/consumer-log';
import { openKafkaConsumerLog } from '../../log/kafka/consumer-log';
import { ownersGroup } from '../../log/kafka/group/owners-protocol';
import { openLocalConsumerLog } from '../../log/local/consumer/consumer-log';
import { show } from '../list';
import { ofCommand, readersLogger } from '../log/open-log';
import { CliCommand, type Flags } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { placeValue, usageError } from '../process/command-line';
import { confirmed } from './operator-commands';

const NOT_SHOWN = 'Nothing is shown.';
const NOT_MOVED = 'Nothing was moved.';

interface ResetFlags extends Flags {
  readonly to: ReturnType<typeof placeValue>;
  readonly topic?: readonly string[];
  readonly yes?: true;
}

interface Open {
  readonly log: ConsumerLog;
  readonly config: Config;
  readonly flags: Flags;
  readonly context: CommandContext;
}

export function groupsCommand(run: RunCommand): CliCommand {
  return new CliCommand('groups')
    .argument('[name]', 'such as ipo-desk; every group that has a position in the log if left out')
    .option('--json', 'One JSON object a line')
    .addCommand(resetCommand(run))
    .settings(['dataDir', 'topicPrefix'])
    .action((name: string | undefined, flags: Flags) =>
      run((context) => withLog(flags, context, (open) => list(name, open))),
    );
}

function resetCommand(run: RunCommand): CliCommand {
  return new CliCommand('reset')
    .description(
      'Move a group whose programs are stopped. They go on from there when they are started again.',
    )
    .argument('<name>', 'such as ipo-desk')
    .requiredOption('--to <place>', 'beginning, end, or a time such as 2026-03-31T09:00:00Z', placeValue)
    .option('--topic <topic>', 'Only in this topic; may be repeated', (one, more: string[] = []) => [
      ...more,
      one,
    ])
    .option('--yes', 'Do not ask')
    .notes(`
Examples:
  $ npx highwater groups reset ipo-desk --to beginning
  $ npx highwater groups reset ipo-desk --to 2026-11-23T09:00:00Z --topic ipos.deal-status --yes`)
    .action((name: string, _: unknown, command: CliCommand) => {
      // The settings and --json are options of `groups`.
      const flags: ResetFlags = command.optsWithGlobals();
      return run((context) => withLog(flags, context, (open) => reset(name, flags, open)));
    });
}

async function withLog(
  flags: Flags,
  context: CommandContext,
  work: (open: Open) => Promise<number>,
): Promise<number> {
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'nothing');
  const { kafka, dataDir, secrets } = config;
  context.hide(secrets);
  const logger = readersLogger(config, context);
  const log =
    kafka === null
      ? openLocalConsumerLog({ dataDir, logger }).consumerLog
      : openKafkaConsumerLog({ ...config, kafka, logger });
  return work({ log, config, flags, context }).finally(() => log.close());
}

/** Groups are called what their programs call them: without the prefix. */
async function list(name: string | undefined, { log, config, flags, context }: Open): Promise<number> {
  const { length } = config.topicPrefix;
  const { signal } = context;
  const found = await saying(NOT_SHOWN, log.groups(config.topicPrefix, signal));
  const missing = log.missing();
  if (found.length === 0 && missing !== null)
    throw new HighwaterError('LOG_MISSING', `there is no log in ${missing} yet`);
  const wanted = found
    .flatMap(({ groupId, places, ...rest }) =>
      places.map((place) => ({ group: groupId.slice(length), ...rest, ...place })),
    )
    .filter(({ group }) => name === undefined || group === name)
    .sort((a, b) => placeOf(a).localeCompare(placeOf(b), 'en', { numeric: true }));
  if (name !== undefined && wanted.length === 0) throw unknown(name, NOT_SHOWN);
  if (wanted.length === 0) context.note('highwater: no group has a position in the log.\n');
  const ends = new Map<string, TopicEnds>();
  /** Groups that read open transactions may be ahead of the ends. */
  const written = new Map<string, TopicEnds['ends']>();
  for (const { topic, partition, next } of wanted) {
    if (!ends.has(topic)) ends.set(topic, await saying(NOT_SHOWN, log.ends(topic, 'reachable', signal)));
    if (next > (ends.get(topic)!.ends.get(partition) ?? next) && !written.has(topic))
      written.set(topic, (await saying(NOT_SHOWN, log.ends(topic, 'written', signal))).ends);
  }
  const rows = wanted.map(({ group, members, note = '', ...place }) => {
    const { topic, partition, next: position } = place;
    const end = ends.get(topic)!.ends.get(partition) ?? null;
    const last = written.get(topic)?.get(partition) ?? end ?? 0;
    const isAhead = end !== null && position > end && position <= last;
    const lag = end === null ? null : lagOf(place, isAhead ? position : end, ends.get(topic)!);
    const isLost = end !== null && lag === null;
    const why = isLost ? 'its position, which is no longer in the log' : note;
    return { group, members, topic, partition, position, end, lag, note: why };
  });
  const heads = ['GROUP', 'MEMBERS', 'TOPIC', 'PARTITION', 'POSITION', 'END', 'LAG', 'WAITS FOR'];
  const cells = (row: object) => Object.values(row).map((cell) => String(cell ?? '–'));
  const columns = heads.map((head) => ({ head }));
  await show(rows, columns, cells, flags, context);
  return 0;
}

/** Records that are to come. Null: the position is no longer in the log. */
function lagOf({ partition, next: position }: GroupPlace, end: number, { gaps }: TopicEnds): number | null {
  const own = gaps?.get(partition) ?? [];
  if (position > end || own.some(({ after, next }) => after < position && position < next)) return null;
  const behind = own.filter(({ after, next }) => after >= position && next <= end);
  return behind.reduce((lag, { after, next }) => lag - (next - after), end - position);
}

function saying<T>(now: string, answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw ofCommand(error, now);
  });
}

const placeOf = (place: { readonly group: string } & GroupPlace): string =>
  `${place.group} ${place.topic} ${place.partition}`;

async function reset(name: string, { to, topic, yes }: ResetFlags, open: Open): Promise<number> {
  const { log, config, context } = open;
  const { signal } = context;
  const groupId = `${config.topicPrefix}${name}`;
  const owners = ownersGroup(config.appId, config.topicPrefix);
  if ([name, groupId].includes(owners)) {
    const what = `${owners} is the group of the publishers, and has no positions`;
    throw usageError(what, NOT_MOVED, 'Name a group of consumers.');
  }
  const what = `groups reset moves the positions of ${name}`;
  if (yes !== true && !(await confirmed(name, what, context))) {
    context.note('highwater: nothing was moved.\n');
    return 1;
  }
  const stands = (await saying(NOT_MOVED, log.groups(groupId, signal))).find(
    (one) => one.groupId === groupId,
  );
  // A delivery has topics, also if the brokers have forgotten where it stood.
  const delivery = config.deliveries.find((one) => groupOf(one) === name);
  const lost = stands === undefined ? delivery?.topics : undefined;
  const left = lost?.filter((one) => topic?.includes(one) === false) ?? [];
  if (left.length > 0) {
    const found = `${name} has no position in ${left.join(', ')} either, and would skip what came there`;
    throw usageError(found, NOT_MOVED, 'Leave out --topic, so that it gets a position in all of its topics.');
  }
  const named = topic ?? lost;
  const topics = named?.map((one) => `${config.topicPrefix}${one}`) ?? stands?.places.map((one) => one.topic);
  const places = [];
  for (const one of new Set(topics)) {
    const { topicId, ends } = await saying(NOT_MOVED, log.ends(one, to, signal));
    if (ends.size === 0 && topic !== undefined)
      throw usageError(`there is no topic ${one}`, NOT_MOVED, 'Name topics that `highwater topics` lists.');
    for (const [partition, next] of ends) places.push({ topic: one, topicId, partition, next: next! });
  }
  if (places.length === 0) throw unknown(name, NOT_MOVED);
  await saying(NOT_MOVED, log.moveGroup(groupId, places, signal));
  return list(name, open);
}

function unknown(name: string, now: string): HighwaterError {
  const remedy =
    'Name a group that `highwater groups` lists. To give positions to another group, reset it in topics (--topic).';
  return usageError(`no group ${name} has a position in the log`, now, remedy);
}
