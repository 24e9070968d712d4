import type { ProgressText } from '../../../src/cli/format/progress-line';
import type { ProgressScreen } from '../../../src/cli/progress-screen';
import { publisherProgress } from '../../../src/cli/publisher-progress';
import type { Logger } from '../../../src/logger';

/** A screen that keeps what it is to show. */
function fakeScreen(isLive: boolean) {
  const works = new Map<string, (nowMs: number) => ProgressText>();
  const screen: ProgressScreen = {
    ...{ isLive, logging: {}, write: () => undefined, end: () => works.clear() },
    set: (key, text) => void works.set(key, text),
    remove: (key) => void works.delete(key),
  };
  return { screen, works, shown: (atMs: number) => [...works.values()].map((text) => text(atMs)) };
}

function keptLog() {
  const lines: [string, unknown][] = [];
  const write = (message: string, facts?: unknown) => void lines.push([message, facts]);
  const logger: Logger = { error: write, warn: write, info: write, debug: write };
  return { lines, logger };
}

const part = { images: 250, of: 1_000, records: 300, isDone: false };

it('shows how much of a state is read back, of what the log says there is, until it is', () => {
  const { screen, works, shown } = fakeScreen(true);
  const { lines, logger } = keptLog();
  const { onRestore } = publisherProgress(screen, logger);
  onRestore('ipos', part);
  expect(shown(Date.now())).toEqual([
    {
      ...{ label: 'ipos', work: 'state read back', share: 0.25 },
      facts: ['250 of 1,000 records', '300 images read', '0 s'],
    },
  ]);
  onRestore('ipos', { ...part, images: 1_000, isDone: true });
  expect(works.size).toBe(0);
  expect(lines).toEqual([]);
});

it('says of work that stands still for how long, and in the end leaves it to the log', () => {
  const { screen, works, shown } = fakeScreen(true);
  publisherProgress(screen, keptLog().logger).onRestore('ipos', part);
  expect(shown(Date.now() + 9_000)[0]).toMatchObject({ trouble: 'nothing new for 9 s' });
  shown(Date.now() + 61_000);
  expect(works.size).toBe(0);
});

it('has a line in the log now and then where nothing can be drawn over', () => {
  jest.useFakeTimers({ now: 1_800_000_000_000 });
  try {
    const { lines, logger } = keptLog();
    const { onRestore } = publisherProgress(fakeScreen(false).screen, logger);
    for (let images = 0; images < 1_000; images += 100) {
      onRestore('ipos', { ...part, images });
      jest.advanceTimersByTime(1_000);
    }
    onRestore('ipos', { ...part, images: 1_000, isDone: true });
    expect(lines).toEqual([
      ['state is read back from the log', { feed: 'ipos', images: 500, of: 1_000 }],
      ['state read back from the log', { feed: 'ipos', images: 1_000, seconds: 10 }],
    ]);
  } finally {
    jest.useRealTimers();
  }
});
