import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator';

/**
 * A simulated API for each test of the file that calls this.
 * @param records of each feed; 0 if left out
 */
export function simulatedApi(records: SimulatorOptions['records'], options: SimulatorOptions = {}) {
  let api: Simulator | undefined;
  beforeEach(async () => {
    const all = { insights: 0, analysts: 0, ipos: 0, ...records };
    api = await startSimulator({ ...options, records: all });
  });
  afterEach(() => api?.stop());
  return () => api!;
}

/** Settings that lead a publisher to a simulated API. */
export function apiEnv({ url, token }: Simulator): Record<string, string> {
  return { HIGHWATER_API_URL: url, HIGHWATER_API_TOKEN: token };
}
