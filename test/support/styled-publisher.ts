import type { Feed } from '../../src/feeds/feed';
import { reconciled } from './operations';
import {
  type ChangingShape,
  plainShape,
  type StyledVendor,
  styledFeed,
  styledVendor,
  type VendorShape,
} from './styled-vendor';
import { type TestPublisher, testPublisher } from './test-publisher';

/** The present of both clocks at the beginning. */
export const NOW_MS = 1_790_000_000_000;
/** The same in Unix seconds. */
export const NOW = NOW_MS / 1000;

/** An API and the publisher of its feed. The API's shape, its rows and the clock of both may change at any time. */
export interface StyledPublisher extends TestPublisher {
  readonly shape: ChangingShape;
  readonly vendor: StyledVendor;
  readonly feed: Feed;
  readonly clock: { ms: number };
  /** Ids of rows without a published record. */
  unknown(): string[];
  /** @param rest lets so many ms pass */
  reconcile(rest?: (ms: number) => Promise<void>): ReturnType<typeof reconciled>;
}

export async function styledPublisher(
  traits: Partial<VendorShape>,
  overrides: Partial<Feed> = {},
): Promise<StyledPublisher> {
  const shape = { ...plainShape, ...traits };
  const clock = { ms: NOW_MS };
  const vendor = styledVendor(shape, () => clock.ms);
  const feed = styledFeed(shape, { pollIntervalMs: 10, ...overrides });
  const publisher = await testPublisher(feed, vendor);
  return {
    ...publisher,
    ...{ shape, vendor, feed, clock },
    unknown() {
      const { state } = publisher.owned().deps;
      return [...vendor.rows.keys()].filter((id) => state.image(id) === undefined);
    },
    reconcile: (rest) => reconciled(publisher, feed, { rest }),
  };
}
