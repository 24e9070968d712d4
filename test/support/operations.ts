import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import { absenceProbe } from '../../src/pipeline/rounds/prove-absent';
import { type ReconcileResult, reconcile } from '../../src/pipeline/rounds/reconcile';
import { retryDeadLetters } from '../../src/pipeline/rounds/retry-dead-letters';
import { MOST_WALKS } from '../../src/pipeline/scan/pages/page-walk';
import { movePosition } from '../../src/pipeline/transaction/transact';
import { snapshotAgain } from '../../src/state/source-offset';
import { backfill } from './backfill';
import { idsIn } from './ids-in';
import type { TestPublisher } from './test-publisher';

export const operations = [
  'poll',
  'wide poll',
  'snapshot',
  'reconcile',
  'dry run',
  'probe',
  'backfill',
  'retry',
] as const;
export type Operation = (typeof operations)[number];

/** A backfill by date reads some days at once, and if that fails, day by day. */
const DAYS = { from: '2026-09-18', to: '2026-09-21' };
const MOST_WINDOWS = 8;

/** Requests that learn how the server pages, and that ask again after an odd answer. */
const LEARNING = 100;

/** A reading ends after so many pages without rows; at a wide second, three more readings begin behind it. */
const MOST_EMPTY = 4 * 1_000;

/**
 * Most requests of an operation, for any behaviour of the server. A walk gives up after twice as many pages as rows, and ten; it
 * reads them up and down, and there are at most `MOST_WALKS` walks behind the first climb.
 */
export function mostRequests(what: Operation, rows: number, missing: number): number {
  return (LEARNING + MOST_EMPTY + (MOST_WALKS + 1) * 2 * (2 * rows + 10)) * times(what, missing);
}

/** How many times an operation may read what it has to read: a proof of absence looks for each missing record. */
function times(what: Operation, missing: number): number {
  if (what === 'backfill') return MOST_WINDOWS;
  return what === 'probe' || what === 'reconcile' || what === 'dry run' ? 3 + missing : 1;
}

/** Beyond reach, refused, or out of order: an operation may fail by name, but it ends. */
export async function ended(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof HighwaterError)) throw new Error(`${what}: ${error}`, { cause: error });
  }
}

/** Reconciles a feed; a dry run polls nothing meanwhile. */
export function reconciled(
  { owned, poll }: Pick<TestPublisher, 'owned' | 'poll'>,
  feed: Feed,
  {
    dryRun = false,
    allowDeletes = 1_000,
    rest = async () => {},
  }: {
    dryRun?: boolean;
    allowDeletes?: number | null;
    rest?: ((ms: number) => Promise<void>) | undefined;
  } = {},
): Promise<ReconcileResult> {
  const turns = {
    between: async () => {},
    rest,
    poll: dryRun ? async () => {} : async () => void (await poll()),
  };
  const { signal } = new AbortController();
  return reconcile({ ...owned().deps, feed }, { dryRun, allowDeletes, ...turns }, signal);
}

/** @param shown what the API shows by now */
export async function carryOut(
  operation: Operation,
  publisher: TestPublisher,
  feed: Feed,
  shown: ReadonlyMap<string, unknown>,
): Promise<unknown> {
  const { deps } = publisher.owned();
  const { signal } = new AbortController();
  switch (operation) {
    case 'poll':
      return publisher.poll();
    case 'wide poll':
      return publisher.poll({ wide: true });
    case 'snapshot':
      await movePosition(deps, snapshotAgain(deps.state.offset));
      return publisher.poll();
    case 'reconcile':
    case 'dry run':
      return reconciled(publisher, feed, { dryRun: operation === 'dry run' });
    case 'probe': {
      const isMissing = (id: string) => !shown.has(id);
      const isDoubtful = (number: number) => isMissing(deps.state.records.idOf(number));
      return (await absenceProbe(deps, isDoubtful, signal)).gone(idsIn(deps.state).filter(isMissing));
    }
    case 'backfill':
      return backfill(publisher, feed, DAYS);
    case 'retry':
      return retryDeadLetters(deps, signal);
  }
}
