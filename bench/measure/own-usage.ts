/** What this process has taken since `measureOwn` was called. */
export interface OwnUsage {
  readonly wallMs: number;
  /** User and system time, of all threads. */
  readonly cpuMs: number;
  /** Since the process started. */
  readonly peakRssBytes: number;
}

/** Begins to measure; the function it returns tells how much it was so far. */
export function measureOwn(): () => OwnUsage {
  const cpu = process.cpuUsage();
  const began = performance.now();
  return () => {
    const wallMs = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    return {
      wallMs,
      cpuMs: (user + system) / 1_000,
      peakRssBytes: process.resourceUsage().maxRSS * 1_024,
    };
  };
}
