import type { ApiServer } from './api/api-server';
import type { BenchKafka } from './kafka/bench-kafka';

/** What every run of a benchmark works with. */
export interface Scene {
  /** How many the API has. */
  readonly records: number;
  readonly api: ApiServer;
  readonly kafka: BenchKafka;
  /** For files that are needed as long as the benchmark runs. */
  readonly folder: string;
  /** Only whether it all works is of interest: nothing is fetched or built that takes minutes. */
  readonly isShort: boolean;
  /** How long one run may take before it counts as stuck, in ms. */
  readonly patienceMs: number;
}
