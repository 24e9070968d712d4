import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sampleUsage } from '../../bench/measure/usage-samples';

it('the benchmark knows the CPU of a process between two moments, and its most memory, after it has ended', async () => {
  const busy =
    'const kept = Buffer.alloc(64 * 2 ** 20, 1); while (process.cpuUsage().user < 300_000) kept.fill(2);';
  const idle = 'process.stdout.write("idle\\n"); setTimeout(() => {}, 400);';
  const child = spawn(process.execPath, ['-e', `${busy} ${idle}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const ended = once(child, 'exit');
    const samples = sampleUsage(child.pid!);
    const beganMs = Date.now();
    await once(child.stdout, 'data');
    const idleMs = Date.now();
    await ended;
    const endedMs = Date.now();
    samples.stop();
    const [whileBusy, whileIdle] = [samples.cpuMs(beganMs, idleMs), samples.cpuMs(idleMs, endedMs)];
    expect(whileBusy).toBeGreaterThan(100);
    expect(whileIdle).toBeLessThan(whileBusy / 2);
    expect(samples.cpuMs(beganMs, endedMs)).toBeCloseTo(whileBusy + whileIdle);
    expect(samples.peakRssBytes()).toBeGreaterThan(64 * 2 ** 20);
  } finally {
    child.kill('SIGKILL');
  }
});
