import type { SourcePage } from '../../../src/source/source';
import { testFeed } from '../../support/feeds';
import { ipo } from '../../support/records';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

/** An API that is not ready answers a first snapshot with no rows, and shows its records later. */
const answer: { rows: readonly unknown[]; isVague: boolean; ms: number } = {
  rows: [],
  isVague: false,
  ms: 1_790_000_000_000,
};
const row = { ...ipo({ id: 'a' }), updated: 1_789_000_000 };

let publisher: TestPublisher;

beforeEach(async () => {
  Object.assign(answer, { rows: [], isVague: false });
  publisher = await testPublisher(testFeed('ipos'), {
    async fetchPage(_feed, { pageOffset }): Promise<SourcePage> {
      const { rows, isVague, ms } = answer;
      const clocks = { serverDateMs: ms, receivedAtMs: ms };
      return { rows: pageOffset === 0 ? rows : [], next: null, isVague, ...clocks };
    },
  });
  // The state as a process has it that starts for the first time.
  await publisher.restart();
});

const offset = () => publisher.owned().deps.state.offset;
const ops = async () => (await publisher.topic('ipos')).map(({ decoded }) => decoded!.op);

it('rows that come after one empty poll are reads, and no transitions', async () => {
  await publisher.poll();
  expect(offset()).toMatchObject({ snapshot: 'running', empty_since_ms: answer.ms });
  answer.rows = [row];
  await publisher.poll();
  expect([await ops(), await publisher.topic('ipos.deal-status')]).toEqual([['r'], []]);
  expect(offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
});

it('rows that come after two empty polls are created', async () => {
  await publisher.poll();
  await publisher.restart();
  await publisher.poll();
  expect(offset()).toMatchObject({ snapshot: 'complete', empty_since_ms: null });
  answer.rows = [row];
  await publisher.poll();
  expect(await ops()).toEqual(['c']);
});

it('answers without a list of rows agree after five minutes, and not before', async () => {
  answer.isVague = true;
  await publisher.poll();
  answer.ms += 299_000;
  await publisher.poll();
  expect(offset().snapshot).toBe('running');
  answer.ms += 1_000;
  await publisher.poll();
  expect(offset().snapshot).toBe('complete');
});
