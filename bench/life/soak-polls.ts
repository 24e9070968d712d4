import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Command } from 'commander';
import { startApi } from '../api/api-server';
import { startBenchKafka } from '../kafka/bench-kafka';
import { short, whole } from '../measure/figures';
import { publish } from './publisher';

/**
 * `npm run soak:polls`: a process that has polled 100,000 times holds no more than one that has polled a tenth of that. No
 * feed polls more often than every 10 ms, so several publishers run in the process, each with a log of its own.
 */

interface Flags {
  readonly polls: string;
  readonly minutes: string;
  readonly publishers: string;
  readonly kafka?: boolean;
}

/** What a process holds, once garbage is collected. */
interface Held {
  readonly polls: number;
  readonly heapBytes: number;
  /** Outside the heap: buffers. */
  readonly externalBytes: number;
  readonly rssBytes: number;
  /** Timers, sockets, files: what `process.getActiveResourcesInfo` names. */
  readonly resources: number;
  /** Null where the system does not show them. */
  readonly files: number | null;
}

const RECORDS = 1_000;
/** One poll in so many finds changes. */
const CHANGES_EVERY = 500;
const SAMPLES = 20;
/** Caches fill, code is compiled, and one moment is not like the other. */
const HEAP_MARGIN = 8 * 2 ** 20;
const EXTERNAL_MARGIN = 8 * 2 ** 20;
const RESOURCE_MARGIN = 12;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return null;
  }
}

async function look(polls: number): Promise<Held> {
  collect();
  await sleep(20);
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  return {
    polls,
    heapBytes: heapUsed,
    externalBytes: external,
    rssBytes: rss,
    resources,
    files: openFiles(),
  };
}

function line({ polls, heapBytes, externalBytes, rssBytes, resources, files }: Held): string {
  const mib = (bytes: number) => short(bytes / 2 ** 20);
  return `${whole(polls).padStart(8)} polls: heap ${mib(heapBytes)} MiB, outside it ${mib(externalBytes)}, RSS ${mib(rssBytes)}, ${resources} resources, ${files ?? '?'} files`;
}

/** @throws Error that says what has grown */
function assertNoGrowth(before: readonly Held[], after: readonly Held[]): void {
  const grown = (of: (held: Held) => number, margin: number, name: string) => {
    // The least of some moments: what is there at every one of them is held.
    const [first, last] = [before, after].map((all) => Math.min(...all.map(of))) as [number, number];
    return last > first + margin ? [`${name} from ${whole(first)} to ${whole(last)}`] : [];
  };
  const found = [
    ...grown(({ heapBytes }) => heapBytes, HEAP_MARGIN, 'the heap has grown'),
    ...grown(({ externalBytes }) => externalBytes, EXTERNAL_MARGIN, 'memory outside the heap has grown'),
    ...grown(({ resources }) => resources, RESOURCE_MARGIN, 'timers, sockets and such have grown'),
    ...grown(({ files }) => files ?? 0, RESOURCE_MARGIN, 'open files have grown'),
  ];
  if (found.length > 0) throw new Error(found.join('; '));
}

async function soak({ polls, minutes, publishers, kafka = false }: Flags): Promise<void> {
  const [wanted, deadline] = [Number(polls), Date.now() + Number(minutes) * 60_000];
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-soak-polls-'));
  const api = await startApi({ records: RECORDS });
  const broker = kafka ? await startBenchKafka() : null;
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const counts = { polls: 0, changes: 0, failures: 0 };
  const running = Array.from({ length: Number(publishers) }, (_, i) => {
    const dataDir = path.join(folder, String(i));
    mkdirSync(dataDir);
    const setup = {
      ...{ api: { url: api.url, token: api.token }, dataDir, pollInterval: '10ms' },
      kafka:
        broker === null
          ? null
          : { brokers: broker.brokers, registryUrl: broker.registryUrl, prefix: `soak-${i}.` },
    };
    return publish(
      setup,
      false,
      (event) => {
        if (event.kind === 'failed') counts.failures++;
        if (event.kind !== 'polled') return;
        counts.polls++;
        counts.changes += event.result.changes;
      },
      stop.signal,
    );
  });
  const ended = Promise.all(running);
  ended.catch(() => stop.abort());
  try {
    const held: Held[] = [];
    let touched = 0;
    while (counts.polls < wanted && Date.now() < deadline && !stop.signal.aborted) {
      await sleep(50);
      if (counts.polls >= (touched + 1) * CHANGES_EVERY) await api.touch(10 * touched++, 5);
      // From a tenth on: before that the process is still young.
      const due = wanted * (0.1 + (0.9 * held.length) / (SAMPLES - 1));
      if (counts.polls >= due) {
        held.push(await look(counts.polls));
        console.log(line(held.at(-1)!));
      }
    }
    stop.abort();
    await ended;
    const [quarter, { polls: done, changes, failures }] = [Math.max(1, Math.floor(held.length / 4)), counts];
    console.log(`${whole(done)} polls, ${whole(changes)} changes, ${failures} polls failed`);
    if (held.length < 4) throw new Error('there was no time for enough polls');
    assertNoGrowth(held.slice(0, quarter), held.slice(-quarter));
    console.log('Nothing has grown.');
  } finally {
    stop.abort();
    await ended.catch(() => undefined);
    await broker?.stop();
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

new Command('npm run soak:polls --')
  .description('Polls on and on, and fails when memory, handles or files grow.')
  .option('--polls <number>', 'Of all publishers together', '100000')
  .option('--minutes <number>', 'It ends by then at the latest, and fails without enough polls', '30')
  .option('--publishers <number>', 'In this process', '4')
  .option('--kafka', 'Into Kafka instead of the embedded log')
  .action(soak)
  .parseAsync()
  .then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
