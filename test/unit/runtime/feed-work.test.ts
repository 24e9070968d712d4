import type { Outcome } from '../../../src/commands/command';
import { createInbox } from '../../../src/commands/inbox';
import { feedWork } from '../../../src/runtime/feed-work';
import type { Tell } from '../../../src/runtime/publisher-events';
import { Rotation } from '../../../src/secrets/rotation';
import { endsWithTest } from '../../support/ends';
import { NOW, styledPublisher } from '../../support/styled-publisher';

it('deletes nothing if a pause ends the poll that comes last in a reconcile', async () => {
  const publisher = await styledPublisher({ style: 'page', order: 'id' }, { pollIntervalMs: 500 });
  const { vendor, feed, logger } = publisher;
  for (let i = 0; i < 40; i++) vendor.write(`r${i}`, NOW - 9_000 + ((i * 7) % 40));
  await publisher.poll();
  vendor.rows.delete('r20');
  const inbox = createInbox();
  const { signal } = new AbortController();
  const work = feedWork(feed, { inbox, logger, tell: () => {}, rotation: new Rotation() }, false);
  await work.turn(publisher.owned(), signal);

  let scan = 0;
  let paused = false;
  const { fetchPage } = vendor;
  vendor.fetchPage = async (of, request, over) => {
    // Only polls ask for the rows since a second.
    if (scan < 2 || request.updatedSince === 0 || paused) return fetchPage(of, request, over);
    paused = true;
    inbox.put({ command: { name: 'pause' }, progress() {}, answer() {} });
    return new Promise((_, reject) => over.addEventListener('abort', () => reject(over.reason)));
  };
  const answers: Outcome[] = [];
  inbox.put({
    command: { name: 'reconcile', dryRun: false, allowDeletes: 5 },
    progress(_, facts) {
      scan = Number(facts.scan);
    },
    answer: (outcome) => void answers.push(outcome),
  });
  await work.turn(publisher.owned(), signal);

  expect(paused).toBe(true);
  expect(answers).toMatchObject([{ ok: false, error: { code: 'COMMAND_INTERRUPTED' } }]);
  expect((await publisher.topic('ipos')).map(({ decoded }) => decoded?.op)).not.toContain('d');
  await work.turn(publisher.owned(), signal);
  expect(publisher.offset().paused).toBe(true);
});

it('an error that ends only a reconcile does not say that the feed is parked, when polls go on', async () => {
  const paging = { style: 'page', first: 1 } as const;
  const traits = { style: 'page', first: 'one, zero is the same' } as const;
  const publisher = await styledPublisher(traits, { pageSize: 10, paging });
  const { vendor, feed, logger, shape } = publisher;
  for (let i = 0; i < 40; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
  await publisher.poll();
  shape.first = 'zero';
  const inbox = createInbox();
  const work = feedWork(feed, { inbox, logger, tell: () => {}, rotation: new Rotation() }, false);
  const answers: Outcome[] = [];
  inbox.put({
    command: { name: 'reconcile', dryRun: false, allowDeletes: null },
    progress() {},
    answer: (outcome) => void answers.push(outcome),
  });
  await work.turn(publisher.owned(), new AbortController().signal);

  const now = 'The reconcile has failed. The feed goes on as before, and is not parked by it.';
  const remedy = expect.stringContaining('paging');
  expect(answers).toMatchObject([{ ok: false, error: { code: 'SCAN_PAGING_IGNORED', now, remedy } }]);
  expect(publisher.offset().parked).toBeNull();
});

it('a reconcile comes on between polls that take longer than their interval', async () => {
  const settings = { pageSize: 4, pollIntervalMs: 1 };
  const publisher = await styledPublisher({ style: 'page', order: 'id' }, settings);
  const { vendor, feed, logger } = publisher;
  for (let i = 0; i < 60; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
  await publisher.poll();
  const { fetchPage } = vendor;
  vendor.fetchPage = async (...asked) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return fetchPage(...asked);
  };
  const inbox = createInbox();
  const told: string[] = [];
  const tell: Tell = ({ kind }) => void told.push(kind);
  const work = feedWork(feed, { inbox, logger, tell, rotation: new Rotation() }, false);
  const answers: Outcome[] = [];
  inbox.put({
    command: { name: 'reconcile', dryRun: false, allowDeletes: null },
    progress() {},
    answer: (outcome) => void answers.push(outcome),
  });
  await work.turn(publisher.owned(), new AbortController().signal);
  const [answer] = answers;
  const pages = answer?.ok ? Number(answer.facts.pages) : 0;
  // It was one poll for each page.
  expect(told.filter((kind) => kind === 'polled').length).toBeLessThan(pages / 2);
});

it('a reconcile after a poll of an hour, such as a first snapshot, leaves no hour without polls', async () => {
  const publisher = await styledPublisher({ style: 'page', order: 'id' }, { pageSize: 4, pollIntervalMs: 1 });
  const { vendor, feed, logger } = publisher;
  for (let i = 0; i < 60; i++) vendor.write(`r${i}`, NOW - 9_000 + i);
  const now = performance.now.bind(performance);
  let laterMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
  endsWithTest(() => jest.restoreAllMocks());
  let perRequestMs = 300_000;
  const { fetchPage } = vendor;
  vendor.fetchPage = (...asked) => {
    laterMs += perRequestMs;
    return fetchPage(...asked);
  };
  const inbox = createInbox();
  const told: string[] = [];
  const tell: Tell = ({ kind }) => void told.push(kind);
  const work = feedWork(feed, { inbox, logger, tell, rotation: new Rotation() }, false);
  const { signal } = new AbortController();
  await work.turn(publisher.owned(), signal);
  expect(laterMs).toBeGreaterThan(3_600_000);
  told.length = 0;
  perRequestMs = 10_000;
  const command = { name: 'reconcile', dryRun: true, allowDeletes: null } as const;
  inbox.put({ command, progress() {}, answer() {} });
  await work.turn(publisher.owned(), signal);
  expect(told.filter((kind) => kind === 'polled').length).toBeGreaterThan(2);
});
