import path from 'node:path';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { runCrashes } from './crash-run';
import { embeddedLog } from './publisher-log';

const folder = tempFolder();
const seed = Number(process.env.CRASH_SEED ?? 1);

/** A kill of each kind; the long form is `npm run soak:crash`. */
describe('the publisher, killed at random moments', () => {
  it('loses nothing, repeats nothing and keeps the order', async () => {
    const report = await runCrashes({
      seed,
      kills: 8,
      leastTorn: 2,
      earlyKills: 3,
      size: { records: { insights: 300, analysts: 150, ipos: 600 }, everyMs: 7 },
      log: embeddedLog(path.join(folder(), 'data')),
      folder: path.join(folder(), 'data'),
    });
    const { kills, verdict, exitCode } = report;

    expect(describeVerdict(verdict)).toBe('nothing to object to');
    expect(exitCode).toBe(0);
    // The kills hit the intended moments.
    expect(kills.length).toBeGreaterThanOrEqual(8);
    expect(kills.filter(({ commits }) => commits > 0).length).toBeGreaterThanOrEqual(3);
    expect(kills.filter(({ snapshots }) => snapshots.length > 0).length).toBeGreaterThanOrEqual(1);
    expect(kills.filter(({ snapshots }) => snapshots.length === 0).length).toBeGreaterThanOrEqual(3);
    expect(kills.filter(({ tornCommit }) => tornCommit).length).toBeGreaterThanOrEqual(2);
    // The market was busy.
    expect(report.lateWritesAtEnd).toBeGreaterThanOrEqual(40);
    const { insights, analysts, ipos } = verdict.feeds;
    for (const counts of [insights!, analysts!, ipos!]) {
      expect(counts.byOp.r).toBeGreaterThan(0);
      expect(counts.byOp.u).toBeGreaterThan(0);
      expect(counts.deadLetters).toBeGreaterThan(0);
    }
    expect(insights!.transitions).toBeGreaterThan(0);
    expect(ipos!.transitions).toBeGreaterThan(0);
  });
});
