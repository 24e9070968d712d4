/** One run of a contender or a limit. */
export interface Measured {
  readonly records: number;
  readonly wallMs: number;
  /** User and system time of the process alone, of all its threads: no broker, no API. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}
