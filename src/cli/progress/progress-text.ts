import type { Facts } from '../../commands/command';
import { counted } from '../../format/counted';
import { durationText } from '../../format/durations';
import type { RestoreProgress } from '../../state/restore';
import { perSecond, type SnapshotCount } from './snapshot-count';

/** How long work goes, at one moment. */
export interface ProgressText {
  /** The feed. */
  readonly label: string;
  /** The task: `snapshot`. */
  readonly work: string;
  /** 0 to 1, for a bar; null where the end is not known: then something turns, and nothing is made up. */
  readonly share: number | null;
  /** With units, the most important first: what there is no room for is cut. */
  readonly facts: readonly string[];
  /** It stands still. */
  readonly trouble?: string;
}

const number = (count: number): string => count.toLocaleString('en-US');

/** Only the API knows how many records a first snapshot will find. */
export function snapshotText(feed: string, count: SnapshotCount, nowMs: number): ProgressText {
  const { rows, records, isFirst, mark, sinceMs } = count;
  const facts = [
    isFirst ? `${number(records)} records` : `${number(rows)} rows of about ${number(records)}`,
    `${number(perSecond(count, nowMs))}/s`,
    `updated until ${new Date(mark * 1_000).toISOString().slice(0, 10)}`,
    durationText(nowMs - sinceMs),
  ];
  const share = isFirst || records === 0 ? null : rows / records;
  return { label: feed, work: 'snapshot', share, facts };
}

/** @param ms how long it has taken */
export function restoreText(
  feed: string,
  { images, of, records }: RestoreProgress,
  ms: number,
): ProgressText {
  const facts = [
    `${number(images)} of ${number(of)} records`,
    // A log that is not compacted yet has several images of a record.
    ...(records > images ? [`${number(records)} images read`] : []),
    durationText(ms),
  ];
  return { label: feed, work: 'state read back', share: of === 0 ? null : images / of, facts };
}

/**
 * How a command goes: from the facts that its owner tells now and then. An owner of another version may tell others: then its
 * own words are shown.
 * @param sinceMs how long ago that was told
 */
export function operationText(
  command: string,
  feed: string,
  { summary, facts }: { readonly summary: string; readonly facts: Facts },
  sinceMs: number,
): ProgressText {
  const known =
    command === 'backfill'
      ? backfillText(facts)
      : command === 'reconcile'
        ? reconcileText(facts, sinceMs)
        : null;
  return { label: feed, work: command, ...(known ?? { share: null, facts: [summary] }) };
}

type Known = Pick<ProgressText, 'share' | 'facts'>;

function backfillText({ done, rows, reached, secondsLeft }: Facts): Known | null {
  if (typeof done !== 'number' || typeof rows !== 'number') return null;
  const left =
    typeof secondsLeft !== 'number' || secondsLeft < 0
      ? []
      : [`about ${durationText(secondsLeft * 1_000)} left`];
  const at = typeof reached === 'string' ? [`at ${reached}`] : [];
  return { share: done, facts: [`${Math.floor(done * 100)} %`, counted(rows, 'row'), ...at, ...left] };
}

const reconcileFigures = [
  'scanRows',
  'tracked',
  'created',
  'updated',
  'missing',
  'probed',
  'pauseMs',
] as const;

function reconcileText(facts: Facts, sinceMs: number): Known | null {
  if (!reconcileFigures.every((name) => typeof facts[name] === 'number')) return null;
  const figures = facts as Readonly<Record<(typeof reconcileFigures)[number], number>>;
  const { scanRows, tracked, created, updated, missing, probed, pauseMs } = figures;
  const found = [
    ...(created === 0 ? [] : [counted(created, 'late record')]),
    ...(updated === 0 ? [] : [counted(updated, 'silent change')]),
  ];
  if (facts.phase === 'pause') {
    const waits = `second scan in ${durationText(pauseMs - sinceMs)}`;
    return { share: null, facts: [waits, `${counted(missing, 'record')} not shown`, ...found] };
  }
  if (facts.phase === 'probe')
    return {
      share: missing === 0 ? 1 : probed / missing,
      facts: [`${counted(missing, 'record')} probed`, ...found],
    };
  // The number of rows is only about the number of records, because records move during the scan. So no percentage is shown.
  const of = `scan ${facts.scan}: ${number(scanRows)} of about ${number(tracked)} rows`;
  return { share: tracked === 0 ? null : Math.min(1, scanRows / tracked), facts: [of, ...found] };
}
