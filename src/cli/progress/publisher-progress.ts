import { durationText } from '../../format/durations';
import type { Logger } from '../../logging/logger';
import type { PageReport } from '../../pipeline/poll';
import type { RestoreProgress } from '../../state/restore';
import { LINE_EVERY_MS, type Progress, type ProgressScreen } from './screen';

/** Work that says nothing is said to stand still after the first time; after the second time the log alone tells. */
const [SILENT_MS, GONE_MS] = [5_000, 60_000];

const number = (count: number): string => count.toLocaleString('en-US');
const secondsIn = (ms: number): number => Math.round(ms / 100) / 10;

/**
 * The long work of a publisher: its state that is read back, and snapshots. On a terminal as lines that move, elsewhere as a
 * line in the log now and then; the end of a snapshot is a line in the log everywhere.
 */
export function publisherProgress(screen: Pick<ProgressScreen, 'set' | 'remove'>, logger: Logger) {
  const madeMs = Date.now();
  /** Since when the pages of a feed's snapshot are read, and how many rows they had. */
  const running = new Map<string, { readonly sinceMs: number; readonly rows: number }>();
  const begin = (feed: string): void => void running.set(feed, { sinceMs: Date.now(), rows: 0 });

  /** Shows a work for as long as it says something. */
  function show(key: string, progress: (nowMs: number, sinceMs: number) => Progress, line: () => void): void {
    const heardMs = Date.now();
    const withTrouble = (nowMs: number, sinceMs: number): Progress => {
      const silentMs = nowMs - heardMs;
      if (silentMs > GONE_MS) screen.remove(key);
      const trouble = silentMs < SILENT_MS ? {} : { trouble: `nothing new for ${durationText(silentMs)}` };
      return { ...progress(nowMs, sinceMs), ...trouble };
    };
    screen.set(key, withTrouble, line);
  }

  return {
    onPage({ feed, rows: pageRows, letters, progress, state }: PageReport): void {
      const { duringSnapshot: isSnapshot, complete, highWaterMark: mark } = progress;
      const { record_count: records, snapshot, snapshot_seq } = state.offset;
      // A snapshot without a single record comes to its end, and is not complete.
      const isDone = complete && snapshot === 'complete';
      const key = `snapshot ${feed.name}`;
      const { sinceMs, rows: before } = running.get(feed.name) ?? { sinceMs: madeMs, rows: 0 };
      const rows = before + pageRows;
      // Only the API knows how many records a first snapshot will find.
      const isFirst = snapshot_seq === 0;
      const name = isFirst ? 'first snapshot' : 'snapshot';
      const perSecond = (nowMs: number) => Math.round((rows * 1_000) / Math.max(1, nowMs - sinceMs));
      const text = (nowMs: number): Progress => ({
        label: feed.name,
        work: 'snapshot',
        share: isFirst || records === 0 ? null : rows / records,
        facts: [
          isFirst ? `${number(records)} records` : `${number(rows)} rows of about ${number(records)}`,
          `${number(perSecond(nowMs))}/s`,
          `updated until ${new Date(mark * 1_000).toISOString().slice(0, 10)}`,
          durationText(nowMs - sinceMs),
        ],
      });
      const atMs = Date.now();
      const rate = { perSecond: perSecond(atMs) };
      if (isSnapshot && !isDone) {
        running.set(feed.name, { sinceMs, rows });
        show(key, text, () => logger.info(`${name} runs`, { feed: feed.name, rows, ...rate }));
      } else {
        begin(feed.name);
        screen.remove(key);
        const facts = { feed: feed.name, records, ...rate, seconds: secondsIn(atMs - sinceMs) };
        if (isSnapshot) logger.info(`${name} complete`, facts);
      }
      // Each record that is too large has a line of its own.
      const noRecords = letters.filter(({ id }) => id === undefined);
      const what = `rows that cannot be published were put into ${feed.name}.dead-letters`;
      if (noRecords.length > 0)
        logger.warn(what, { feed: feed.name, count: noRecords.length, reason: noRecords[0]!.reason });
    },
    onRestore(feed: string, { images, of, records, isDone }: RestoreProgress): void {
      const key = `state ${feed}`;
      const text = (nowMs: number, sinceMs: number): Progress => ({
        label: feed,
        work: 'state read back',
        share: of === 0 ? null : images / of,
        facts: [
          `${number(images)} of ${number(of)} records`,
          // A log that is not compacted yet has several images of a record.
          ...(records > images ? [`${number(records)} images read`] : []),
          durationText(nowMs - sinceMs),
        ],
      });
      if (!isDone) {
        show(key, text, () => logger.info('state is read back from the log', { feed, images, of }));
        return;
      }
      begin(feed);
      const ms = screen.remove(key);
      if (ms < LINE_EVERY_MS) return;
      logger.info('state read back from the log', { feed, images, seconds: secondsIn(ms) });
    },
  };
}
