import { feedTopics } from '../../../src/log/topics';
import { poll } from '../../../src/pipeline/poll';
import { pollRound } from '../../../src/pipeline/round';
import { resetState } from '../../../src/pipeline/rounds/reset-state';
import { movePosition } from '../../../src/pipeline/transaction/transact';
import { acquireFeed } from '../../../src/runtime/owned-feed';
import { snapshotAgain } from '../../../src/state/source-offset';
import { endsWithTest } from '../../support/ends';
import { testFeed } from '../../support/feeds';
import { memorySession } from '../../support/memory-session';
import { ipo } from '../../support/records';
import { memoryRegistry } from '../../support/registry';
import { scriptedVendor } from '../../support/scripted-vendor';
import { quietLogger } from '../../support/source';

const { signal } = new AbortController();
const first = { 'ipos.source-offset': 's1', ipos: 'c1', 'ipos.deal-status': 't1' };

/** Owners of one feed, one after the other, on a log whose topics have these ids. */
function owners() {
  const session = memorySession();
  const registry = memoryRegistry();
  const logger = quietLogger();
  const source = scriptedVendor();
  source.rows = [ipo({ id: 'a', updated: 100 })];
  return {
    said: logger.warnings,
    transactions: session.transactions,
    async next(ids: Readonly<Record<string, string>>, { scope = 'scope', isLossTold = false } = {}) {
      const feed = testFeed('ipos');
      const log = { acquire: async () => ({ ...session, topicIds: new Map(Object.entries(ids)) }) } as never;
      const topics = feedTopics(feed, '');
      const deps = { source, log, registry, logger, topics, scope, isLossTold };
      const rest = { appId: 'test', instance: 'test', stateDir: null };
      const owned = await acquireFeed(feed, { ...deps, ...rest }, signal);
      endsWithTest(owned.release);
      const { lost_topics } = owned.deps.state.storedOffset;
      await poll(owned.deps, pollRound(owned.deps, true), signal);
      return { lost: lost_topics, ...owned };
    },
  };
}

const createdAgain = (topics: string) => `${topics} deleted and created again: the earlier events are gone.`;

it('topics with other ids than before are named once, and stored until a snapshot', async () => {
  const { next, said } = owners();
  await next(first);
  const { lost, deps } = await next({ ...first, ipos: 'c2', 'ipos.deal-status': 't2' });
  expect(lost).toEqual(['ipos', 'ipos.deal-status']);
  expect(said).toEqual([createdAgain('Topics ipos, ipos.deal-status were')]);
  expect((await next({ ...first, ipos: 'c2', 'ipos.deal-status': 't2' })).lost).toEqual(lost);
  expect(said).toHaveLength(1);
  await movePosition(deps, snapshotAgain(deps.state.offset));
  expect((await next({ ...first, ipos: 'c2', 'ipos.deal-status': 't2' })).lost).toEqual([]);
});

it('another loss is added to one that is known', async () => {
  const { next, said } = owners();
  await next(first);
  await next({ ...first, ipos: 'c2' });
  const { lost } = await next({ ...first, ipos: 'c2', 'ipos.deal-status': 't2' });
  expect(lost).toEqual(['ipos', 'ipos.deal-status']);
  expect(said).toEqual([createdAgain('Topic ipos was'), createdAgain('Topic ipos.deal-status was')]);
});

it('a loss that this process has told is stored, and not said again', async () => {
  const { next, said } = owners();
  await next(first);
  expect((await next({ ...first, ipos: 'c2' }, { isLossTold: true })).lost).toEqual(['ipos']);
  expect(said).toEqual([]);
});

it.each<[string, Record<string, string>, Record<string, string>]>([
  ['on brokers without ids', {}, {}],
  ['when ids are first known', {}, first],
  ['when no id can be learned', first, {}],
  ['when the topics stay', first, first],
  ['when a topic is new', { 'ipos.source-offset': 's1', ipos: 'c1' }, first],
  ['when one id cannot be learned', first, { 'ipos.source-offset': 's1', ipos: 'c1' }],
  ['on another cluster', first, { 'ipos.source-offset': 's2', ipos: 'c2', 'ipos.deal-status': 't2' }],
])('nothing is said %s', async (_, before, after) => {
  const { next, said, transactions } = owners();
  await next(before);
  const stored = transactions.length;
  expect((await next(after)).lost).toEqual([]);
  expect([said, transactions.length]).toEqual([[], stored]);
});

it.each(['no id', 'a reset', 'another scope'])('a loss is found past %s', async (between) => {
  const { next, said } = owners();
  const { deps } = await next(first);
  if (between === 'a reset') await resetState(deps);
  else await next(between === 'no id' ? {} : first, { scope: between });
  expect((await next({ ...first, ipos: 'c2' }, { scope: between })).lost).toEqual(['ipos']);
  expect(said).toEqual([createdAgain('Topic ipos was')]);
});
