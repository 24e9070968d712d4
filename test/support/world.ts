import type { Feed } from '../../src/feeds/feed';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator';
import type { ClosableSource } from '../../src/source/client';
import type { Source } from '../../src/source/source';
import { endsWithTest } from './ends';
import { quietLogger, testSource } from './source';
import { type TestPublisher, testPublisher } from './test-publisher';

export interface WorldOptions {
  readonly feed: Feed;
  readonly vendor?: SimulatorOptions;
  /** Stands between the client and the publisher. */
  readonly between?: (client: ClosableSource, api: Simulator) => Source;
  /** The client takes no larger answers. */
  readonly bodyLimitBytes?: number | undefined;
}

export interface World {
  readonly api: Simulator;
  readonly source: Source;
  readonly publisher: TestPublisher;
}

/**
 * A simulated API, the client that reads it, and a publisher of one feed to an embedded log. All of it ends with the test. A clock of the
 * vendor is that of the client, too.
 */
export async function world({
  feed,
  vendor = {},
  between = (client) => client,
  bodyLimitBytes,
}: WorldOptions): Promise<World> {
  const api = await startSimulator({ compress: false, ...vendor });
  endsWithTest(() => api.stop());
  const client = testSource(api, quietLogger(), bodyLimitBytes, vendor.clock);
  endsWithTest(() => client.close());
  const source = between(client, api);
  return { api, source, publisher: await testPublisher(feed, source) };
}
