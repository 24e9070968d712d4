import type { Facts } from '../commands/command';
import { counted } from '../format/counted';
import { durationText } from '../format/durations';
import type { ProgressText } from './format/progress-line';

/**
 * How a command goes, for a terminal: from the facts that its owner tells now and then. An owner of another version may tell
 * others: then its own words are shown.
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

function reconcileText(facts: Facts, sinceMs: number): Known | null {
  const { scan, phase, scanRows, tracked, created, updated, missing, probed, pauseMs } = facts;
  const figures = [scanRows, tracked, created, updated, missing, probed, pauseMs];
  if (!figures.every((figure): figure is number => typeof figure === 'number')) return null;
  const [rows, all, late, silent, unseen, asked, pause] = figures as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const found = [
    ...(late === 0 ? [] : [counted(late, 'late record')]),
    ...(silent === 0 ? [] : [counted(silent, 'silent change')]),
  ];
  if (phase === 'pause') {
    const waits = `second scan in ${durationText(Math.max(0, pause - sinceMs))}`;
    return { share: null, facts: [waits, `${counted(unseen, 'record')} not shown`, ...found] };
  }
  if (phase === 'probe')
    return {
      share: unseen === 0 ? 1 : asked / unseen,
      facts: [`${counted(unseen, 'record')} probed`, ...found],
    };
  // As many rows as records, but for what moves meanwhile: no percentage is claimed.
  const of = `scan ${scan}: ${rows.toLocaleString('en-US')} of about ${all.toLocaleString('en-US')} rows`;
  return { share: all === 0 ? null : Math.min(1, rows / all), facts: [of, ...found] };
}
