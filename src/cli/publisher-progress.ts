import { durationText } from '../format/durations';
import type { Logger } from '../logger';
import type { PageReport } from '../pipeline/poll';
import type { RestoreProgress } from '../state/restore';
import type { ProgressText } from './format/progress-line';
import type { ProgressScreen } from './progress-screen';
import { snapshotProgress } from './snapshot-progress';

export interface PublisherProgress {
  onPage(report: PageReport): void;
  onRestore(feed: string, progress: RestoreProgress): void;
}

const TELL_EVERY_MS = 5_000;
/** After so long without a word it is said that there is none; after the second time the log alone tells. */
const [SILENT_MS, GONE_MS] = [5_000, 60_000];

interface Reading {
  readonly beganMs: number;
  heardMs: number;
  toldMs: number;
}

/**
 * The long work of a publisher: its state that is read back, and snapshots. On a terminal as lines that move, elsewhere as a
 * line in the log now and then; the end of a snapshot is a line in the log everywhere.
 */
export function publisherProgress(screen: ProgressScreen, logger: Logger): PublisherProgress {
  const news = snapshotProgress(Date.now);
  const snapshots = new Map<string, Reading & { rows: number }>();
  const restores = new Map<string, Reading>();

  /** Shows a work for as long as it says something. */
  function show(key: string, reading: Reading, text: (nowMs: number) => ProgressText): void {
    screen.set(key, (nowMs) => {
      const silentMs = nowMs - reading.heardMs;
      if (silentMs > GONE_MS) screen.remove(key);
      const shown = text(nowMs);
      return silentMs < SILENT_MS
        ? shown
        : { ...shown, trouble: `nothing new for ${durationText(silentMs)}` };
    });
  }

  return {
    onPage(report) {
      const feed = report.feed.name;
      const { duringSnapshot, complete, highWaterMark } = report.progress;
      const told = news(report);
      if (told?.done === true || (told !== null && !screen.isLive)) {
        const { done, ...facts } = told;
        logger.info(done ? 'first snapshot complete' : 'first snapshot runs', { feed, ...facts });
      }
      if (duringSnapshot && !complete) {
        const nowMs = Date.now();
        const reading = snapshots.get(feed) ?? { beganMs: nowMs, heardMs: nowMs, toldMs: nowMs, rows: 0 };
        reading.heardMs = nowMs;
        reading.rows += report.rows;
        snapshots.set(feed, reading);
        const { record_count: records, snapshot_seq } = report.state.offset;
        const isFirst = snapshot_seq === 0;
        const reached = new Date(highWaterMark * 1_000).toISOString().slice(0, 10);
        show(`snapshot ${feed}`, reading, (at) =>
          snapshotText(feed, reading, { records, reached, isFirst }, at),
        );
      } else if (snapshots.delete(feed)) screen.remove(`snapshot ${feed}`);
      warnOfLetters(report, logger);
    },
    onRestore(feed, progress) {
      const key = `state ${feed}`;
      const nowMs = Date.now();
      const { images, of, isDone } = progress;
      const reading = restores.get(feed) ?? { beganMs: nowMs, heardMs: nowMs, toldMs: nowMs };
      reading.heardMs = nowMs;
      const facts = { feed, images, of };
      if (isDone) {
        restores.delete(feed);
        screen.remove(key);
        if (nowMs - reading.beganMs >= TELL_EVERY_MS) {
          const seconds = Math.round((nowMs - reading.beganMs) / 100) / 10;
          logger.info('state read back from the log', { feed, images, seconds });
        }
        return;
      }
      restores.set(feed, reading);
      show(key, reading, (at) => restoreText(feed, progress, at - reading.beganMs));
      if (screen.isLive || nowMs - reading.toldMs < TELL_EVERY_MS) return;
      reading.toldMs = nowMs;
      logger.info('state is read back from the log', facts);
    },
  };
}

/** How many records a first snapshot will find is known to the API alone. */
function snapshotText(
  feed: string,
  { beganMs, rows }: Reading & { readonly rows: number },
  found: { readonly records: number; readonly reached: string; readonly isFirst: boolean },
  nowMs: number,
): ProgressText {
  const ms = Math.max(1, nowMs - beganMs);
  const { records, reached, isFirst } = found;
  const number = (count: number): string => count.toLocaleString('en-US');
  const rate = number(Math.round((rows * 1_000) / ms));
  const facts = [
    isFirst ? `${number(records)} records` : `${number(rows)} rows of about ${number(records)}`,
    `${rate}/s`,
    `updated until ${reached}`,
    durationText(ms),
  ];
  const share = isFirst || records === 0 ? null : rows / records;
  return { label: feed, work: 'snapshot', share, facts };
}

function restoreText(feed: string, { images, of, records }: RestoreProgress, ms: number): ProgressText {
  const number = (count: number): string => count.toLocaleString('en-US');
  const facts = [
    `${number(images)} of ${number(of)} records`,
    // A log that is not compacted yet has several images of a record.
    ...(records > images ? [`${number(records)} images read`] : []),
    durationText(ms),
  ];
  return { label: feed, work: 'state read back', share: of === 0 ? null : images / of, facts };
}

function warnOfLetters({ feed: { name: feed }, letters }: PageReport, logger: Logger): void {
  // Of records that are too large, each has a line of its own.
  const noRecords = letters.filter(({ id }) => id === undefined);
  if (noRecords.length === 0) return;
  const { reason } = noRecords[0]!;
  const what = `records without id or updated were put into ${feed}.dead-letters`;
  logger.warn(what, { feed, count: noRecords.length, reason });
}
