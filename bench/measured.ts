import type { UsageSamples } from './measure/usage-samples';

/** One run of a contender or a limit. */
export interface Measured {
  readonly records: number;
  readonly wallMs: number;
  /** User and system time of the process alone, of all its threads: no broker, no API. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

/** A run from one moment to another (Unix milliseconds), with the peak of memory since its start. */
export function measuredRun(
  records: number,
  fromMs: number,
  toMs: number,
  samples: Pick<UsageSamples, 'cpuMs' | 'peakRssBytes'>,
): Measured {
  return {
    records,
    wallMs: toMs - fromMs,
    cpuMs: samples.cpuMs(fromMs, toMs),
    peakRssBytes: samples.peakRssBytes(),
  };
}
