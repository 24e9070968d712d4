import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from './build';
import { DEADLINE_MS } from './until';

/** A process of its own that owns a feed of an embedded log and commits to it. */
export interface PublisherProcess {
  readonly pid: number;
  /** Code of its refusal; null if it owns the feed. */
  readonly refused: { code: string; message: string } | null;
  /** Resolves when it has committed so many batches. */
  committed(batches: number): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** SIGKILL: it has no say in it. */
  kill(): Promise<void>;
}

const script = path.join(__dirname, 'publisher.cjs');

/**
 * Starts one, which ends with this process at the latest.
 * @param batches how many it commits, one after the other; then it stays, owning the feed
 */
export async function startPublisher(
  dataDir: string,
  { feed = 'ipos', batches = 0 }: { feed?: string; batches?: number } = {},
): Promise<PublisherProcess> {
  const dist = await build();
  const child = spawn(process.execPath, [script, dist, dataDir, feed, String(batches)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let count = -1;
  let refused: PublisherProcess['refused'] = null;
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const message = JSON.parse(line) as { committed: number } | { code: string; message: string };
    if ('committed' in message) count = message.committed;
    else refused = message;
  });
  await line(lines, child, () => count >= 0 || refused !== null);
  return {
    pid: child.pid!,
    refused,
    committed: (wanted) => line(lines, child, () => count >= wanted),
    signal: (name) => void child.kill(name),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function line(lines: NodeJS.EventEmitter, child: ChildProcess, isThere: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const gone = once(child, 'exit', { signal }).then(() => {
    if (!isThere()) throw new Error('the publisher process ended early');
  });
  // Only one of the two is awaited to its end.
  gone.catch(() => undefined);
  while (!isThere()) await Promise.race([once(lines, 'line', { signal }), gone]);
}
