import { durationText } from '../../format/durations';
import type { Logger } from '../../logging/logger';
import type { PageReport } from '../../pipeline/poll';
import type { RestoreProgress } from '../../state/restore';
import { LINE_EVERY_MS, type ProgressScreen } from './progress-screen';
import { type ProgressText, restoreText, snapshotText } from './progress-text';
import { perSecond, snapshotCounter } from './snapshot-count';

export interface PublisherProgress {
  onPage(report: PageReport): void;
  onRestore(feed: string, progress: RestoreProgress): void;
}

/** After so long without a word it is said that there is none; after the second time the log alone tells. */
const [SILENT_MS, GONE_MS] = [5_000, 60_000];

/**
 * The long work of a publisher: its state that is read back, and snapshots. On a terminal as lines that move, elsewhere as a
 * line in the log now and then; the end of a snapshot is a line in the log everywhere.
 */
export function publisherProgress(
  screen: Pick<ProgressScreen, 'set' | 'remove'>,
  logger: Logger,
): PublisherProgress {
  const snapshots = snapshotCounter();

  /** Shows a work for as long as it says something. */
  function show(key: string, text: (nowMs: number, sinceMs: number) => ProgressText, line: () => void): void {
    const heardMs = Date.now();
    const withTrouble = (nowMs: number, sinceMs: number): ProgressText => {
      const silentMs = nowMs - heardMs;
      if (silentMs > GONE_MS) screen.remove(key);
      const shown = text(nowMs, sinceMs);
      return silentMs < SILENT_MS
        ? shown
        : { ...shown, trouble: `nothing new for ${durationText(silentMs)}` };
    };
    screen.set(key, withTrouble, line);
  }

  return {
    onPage(report) {
      const feed = report.feed.name;
      const key = `snapshot ${feed}`;
      const count = snapshots.page(report);
      const { rows, records, sinceMs, atMs, isFirst, isSnapshot, isDone } = count;
      const snapshot = isFirst ? 'first snapshot' : 'snapshot';
      const rate = { perSecond: perSecond(count, atMs) };
      if (!isSnapshot || isDone) screen.remove(key);
      else
        show(
          key,
          (nowMs) => snapshotText(feed, count, nowMs),
          () => logger.info(`${snapshot} runs`, { feed, rows, ...rate }),
        );
      if (isSnapshot && isDone) {
        const facts = { feed, records, ...rate, seconds: secondsIn(atMs - sinceMs) };
        logger.info(`${snapshot} complete`, facts);
      }
      warnOfLetters(report, logger);
    },
    onRestore(feed, progress) {
      const key = `state ${feed}`;
      const { images, of, isDone } = progress;
      if (!isDone) {
        show(
          key,
          (nowMs, sinceMs) => restoreText(feed, progress, nowMs - sinceMs),
          () => logger.info('state is read back from the log', { feed, images, of }),
        );
        return;
      }
      snapshots.begin(feed);
      const ms = screen.remove(key);
      if (ms < LINE_EVERY_MS) return;
      logger.info('state read back from the log', { feed, images, seconds: secondsIn(ms) });
    },
  };
}

function secondsIn(ms: number): number {
  return Math.round(ms / 100) / 10;
}

function warnOfLetters({ feed: { name: feed }, letters }: PageReport, logger: Logger): void {
  // Each record that is too large has a line of its own.
  const noRecords = letters.filter(({ id }) => id === undefined);
  if (noRecords.length === 0) return;
  const { reason } = noRecords[0]!;
  const what = `rows that cannot be published were put into ${feed}.dead-letters`;
  logger.warn(what, { feed, count: noRecords.length, reason });
}
