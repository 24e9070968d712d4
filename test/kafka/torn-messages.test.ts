import path from 'node:path';
import { observed, runCrashes, totalCommits } from '../faults/crash-run';
import { proxiedPublisherLog } from '../faults/kafka-publisher-log';
import { tearMessages } from '../faults/torn-messages';
import { describeVerdict } from '../support/judge/verdict';
import type { ProxyWatch } from '../support/kafka-proxy';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
const seed = Number(process.env.CRASH_SEED ?? 1);
const publisherLog = proxiedPublisherLog();

describe('connections that are cut in the middle of a message, at any byte and in both directions', () => {
  it('end no publisher, while it starts, takes its feeds, restores, reads and polls', async () => {
    const { kafka, log } = publisherLog();
    let lives = 0;
    let tearing: ProxyWatch | null = null;
    const { exitCode, verdict } = await runCrashes({
      seed,
      // Each publisher begins with a takeover and a restore of its predecessor's state.
      kills: 2,
      earlyKills: 1,
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 20 },
      log,
      folder: path.join(folder(), 'run'),
      onStart() {
        tearing?.remove();
        tearing = tearMessages({ seed: seed + lives++, every: 40, times: 12 }, kafka.proxy);
      },
      async strikes(publisher) {
        const isAlive = (): boolean => {
          if (publisher.hasExited()) throw new Error(`the publisher has ended: ${publisher.output()}`);
          return true;
        };
        await until(() => isAlive() && tearing?.met() === 24, 120_000);
        const before = totalCommits(await observed(log));
        await until(async () => isAlive() && totalCommits(await observed(log)) > before + 10);
      },
    });
    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(exitCode).toBe(0);
  });
});
