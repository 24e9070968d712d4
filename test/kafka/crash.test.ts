import path from 'node:path';
import { type StrikeReport, strikeBroker, transactionTimeoutMs } from '../faults/broker-strikes';
import { type Kill, runCrashes } from '../faults/crash-run';
import { proxiedPublisherLog } from '../faults/kafka-publisher-log';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const seed = Number(process.env.CRASH_SEED ?? 1);
const publisherLog = proxiedPublisherLog();

describe('the publisher on Kafka, killed at random moments, and then its broker', () => {
  it('loses nothing, repeats nothing and keeps the order', async () => {
    const { kafka, log } = publisherLog();
    const strikes: StrikeReport[] = [];
    const report = await runCrashes({
      seed,
      kills: 6,
      earlyKills: 3,
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 20 },
      log,
      folder: path.join(folder(), 'run'),
      async strikes(publisher) {
        for (const strike of [
          { does: 'kill', at: 'end-lost', forMs: 0 },
          { does: 'kill', at: 'ended', forMs: 1_000 },
          { does: 'freeze', at: 'end-late', forMs: transactionTimeoutMs + 2_000 },
        ] as const)
          strikes.push(await strikeBroker(strike, publisher, { kafka, log }));
      },
    });
    const { kills, verdict, exitCode } = report;
    const count = (which: (kill: Kill) => boolean): number => kills.filter(which).length;

    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(exitCode).toBe(0);
    // The kills hit the intended moments, and so did the strikes, which the last publisher survived.
    expect(kills.length).toBe(6);
    expect(count(({ commits }) => commits > 0)).toBeGreaterThanOrEqual(3);
    expect(count(({ tornCommit }) => tornCommit)).toBeGreaterThanOrEqual(3);
    expect(count(({ snapshots }) => snapshots.length > 0)).toBeGreaterThanOrEqual(1);
    expect(count(({ snapshots }) => snapshots.length === 0)).toBeGreaterThanOrEqual(2);
    expect(strikes.map(({ commits }) => commits >= 6)).toEqual([true, true, true]);
    for (const counts of Object.values(verdict.feeds)) {
      expect(counts.byOp.r).toBeGreaterThan(0);
      expect(counts.byOp.u).toBeGreaterThan(0);
    }
  });
});
