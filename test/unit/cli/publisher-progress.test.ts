import { Writable } from 'node:stream';
import { publisherProgress } from '../../../src/cli/progress/publisher-progress';
import { type Progress, progressScreen } from '../../../src/cli/progress/screen';
import type { Logger } from '../../../src/logging/logger';
import type { PageReport } from '../../../src/pipeline/poll';

/** A screen that keeps its lines. */
function fakeScreen() {
  const works = new Map<string, (nowMs: number) => Progress>();
  const screen = {
    set(key: string, text: (nowMs: number, sinceMs: number) => Progress) {
      const sinceMs = Date.now();
      works.set(key, (nowMs) => text(nowMs, sinceMs));
    },
    remove(key: string) {
      works.delete(key);
      return 0;
    },
  };
  return { screen, works, shown: (atMs: number) => [...works.values()].map((text) => text(atMs)) };
}

/** A screen over a pipe. */
function noTerminal() {
  const stderr = new Writable({ write: (_text, _encoding, done) => done() });
  const logging = { stream: stderr, color: false };
  return progressScreen({ stderr, env: {}, logging, beforeExit: () => undefined }, true);
}

function keptLog() {
  const lines: [string, unknown][] = [];
  const write = (message: string, facts?: unknown) => void lines.push([message, facts]);
  const logger: Logger = { error: write, warn: write, info: write, debug: write };
  return { lines, logger };
}

const part = { images: 250, of: 1_000, records: 300, isDone: false };

it('shows how much of a state is read back, of what the log says there is, until it is', () => {
  const { screen, works, shown } = fakeScreen();
  const { lines, logger } = keptLog();
  const { onRestore } = publisherProgress(screen, logger);
  onRestore('ipos', part);
  expect(shown(Date.now())).toEqual([
    {
      label: 'ipos',
      work: 'state read back',
      share: 0.25,
      facts: ['250 of 1,000 records', '300 images read', '0 s'],
    },
  ]);
  onRestore('ipos', { ...part, images: 1_000, isDone: true });
  expect(works.size).toBe(0);
  expect(lines).toStrictEqual([]);
});

it('says of work that stands still for how long, and in the end leaves it to the log', () => {
  const { screen, works, shown } = fakeScreen();
  publisherProgress(screen, keptLog().logger).onRestore('ipos', part);
  expect(shown(Date.now() + 9_000)[0]).toMatchObject({ trouble: 'nothing new for 9 s' });
  shown(Date.now() + 61_000);
  expect(works.size).toBe(0);
});

/** A page of the feed ipos, as the pipeline reports it. */
function page(
  rows: number,
  records: number,
  progress: { duringSnapshot: boolean; complete: boolean },
  snapshotSeq = 0,
  snapshot = progress.complete ? 'complete' : 'running',
) {
  const report = {
    ...{ feed: { name: 'ipos' }, rows, letters: [] },
    progress: { ...progress, highWaterMark: 1_700_000_000 },
    state: { offset: { record_count: records, snapshot, snapshot_seq: snapshotSeq } },
  };
  return report as unknown as PageReport;
}
const [running, complete, polled] = [
  { duringSnapshot: true, complete: false },
  { duringSnapshot: true, complete: true },
  { duringSnapshot: false, complete: true },
];

describe('with a clock that the test sets', () => {
  beforeEach(() => jest.useFakeTimers({ now: 1_800_000_000_000 }));
  afterEach(() => jest.useRealTimers());

  it('shows how many records a snapshot has found, how fast, and how far it is', () => {
    const { screen, works, shown } = fakeScreen();
    const { onPage } = publisherProgress(screen, keptLog().logger);
    jest.advanceTimersByTime(1_000);
    onPage(page(500, 500, running));
    jest.advanceTimersByTime(1_000);
    onPage(page(1_000, 1_400, running));
    expect(shown(Date.now())).toEqual([
      {
        ...{ label: 'ipos', work: 'snapshot', share: null },
        facts: ['1,400 records', '750/s', 'updated until 2023-11-14', '2 s'],
      },
    ]);
    onPage(page(0, 1_400, complete));
    expect(works.size).toBe(0);
  });

  it('logs a snapshot every few seconds if nothing can be drawn over, and its end', () => {
    const { lines, logger } = keptLog();
    const { onPage } = publisherProgress(noTerminal(), logger);
    for (let i = 1; i <= 8; i++) {
      jest.advanceTimersByTime(1_000);
      onPage(page(100, i * 100, running));
    }
    // None of its rows is a record.
    onPage(page(0, 800, complete, 0, 'running'));
    onPage(page(0, 800, complete));
    expect(lines).toEqual([
      ['first snapshot runs', { feed: 'ipos', rows: 500, perSecond: 100 }],
      ['first snapshot complete', { feed: 'ipos', records: 800, perSecond: 100, seconds: 8 }],
    ]);
  });

  it('a later snapshot is not called the first, and does not count the time before it', () => {
    const { lines, logger } = keptLog();
    const { onPage } = publisherProgress(noTerminal(), logger);
    jest.advanceTimersByTime(3_600_000);
    onPage(page(0, 0, polled));
    jest.advanceTimersByTime(2_000);
    onPage(page(400, 400, complete, 400));
    expect(lines).toEqual([
      ['snapshot complete', { feed: 'ipos', records: 400, perSecond: 200, seconds: 2 }],
    ]);
  });

  it('has a line in the log now and then where nothing can be drawn over', () => {
    const { lines, logger } = keptLog();
    const { onRestore } = publisherProgress(noTerminal(), logger);
    for (let images = 0; images < 1_000; images += 100) {
      onRestore('ipos', { ...part, images });
      jest.advanceTimersByTime(1_000);
    }
    onRestore('ipos', { ...part, images: 1_000, isDone: true });
    expect(lines).toEqual([
      ['state is read back from the log', { feed: 'ipos', images: 400, of: 1_000 }],
      ['state is read back from the log', { feed: 'ipos', images: 900, of: 1_000 }],
      ['state read back from the log', { feed: 'ipos', images: 1_000, seconds: 10 }],
    ]);
  });
});
