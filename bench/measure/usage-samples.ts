import { type ProcessUsage, processUsage } from './process-usage';

/** What a process took between any two moments, known afterwards. */
export interface UsageSamples {
  /** CPU in milliseconds from one moment to the other (Unix milliseconds), between samples in proportion. */
  cpuMs(fromMs: number, toMs: number): number;
  peakRssBytes(): number;
  stop(): void;
}

/** Every call of ps is a process of its own. */
const EVERY_MS = process.platform === 'linux' ? 20 : 250;

/** Looks at a process until it is stopped or the process has ended. */
export function sampleUsage(pid: number): UsageSamples {
  const samples: { readonly atMs: number; readonly usage: ProcessUsage }[] = [];
  const look = () => {
    try {
      samples.push({ usage: processUsage(pid), atMs: Date.now() });
    } catch (error) {
      if (samples.length === 0) throw error;
      clearInterval(timer);
    }
  };
  const timer = setInterval(look, EVERY_MS);
  look();

  const cpuAt = (moment: number): number => {
    const next = samples.findIndex(({ atMs }) => atMs >= moment);
    if (next === 0) return samples[0]!.usage.cpuMs;
    if (next === -1) return samples.at(-1)!.usage.cpuMs;
    const [before, after] = [samples[next - 1]!, samples[next]!];
    const part = (moment - before.atMs) / (after.atMs - before.atMs);
    return before.usage.cpuMs + part * (after.usage.cpuMs - before.usage.cpuMs);
  };
  return {
    cpuMs: (fromMs, toMs) => cpuAt(toMs) - cpuAt(fromMs),
    peakRssBytes: () => Math.max(...samples.map(({ usage }) => usage.peakRssBytes)),
    stop: () => clearInterval(timer),
  };
}
