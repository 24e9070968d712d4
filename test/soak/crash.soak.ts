import path from 'node:path';
import { type Kill, runCrashes } from '../faults/crash-run';
import { embeddedLog } from '../faults/publisher-log';
import { expectGood, figuresOf, say, seed, setting, soakFolder } from './soak';

/**
 * The crash test in its long form. Settings: KILLS (200), SOAK_MINUTES after which no further kill comes (30), SEED (drawn),
 * KEEP=1 to keep the log of a run that failed.
 */
const wanted = setting('KILLS', 200);
const minutes = setting('SOAK_MINUTES', 30);
let isBad = false;
const folder = soakFolder(undefined, () => isBad);

it(
  'survives the soak',
  async () => {
    say(`seed ${seed}: ${wanted} kills, at most ${minutes} minutes`);
    let commits = 0;
    const report = await runCrashes({
      seed,
      kills: wanted,
      earlyKills: 12,
      size: { records: { insights: 1000, analysts: 400, ipos: 1500 }, everyMs: 12 },
      log: embeddedLog(path.join(folder, 'data')),
      folder: path.join(folder, 'data'),
      killUntilMs: minutes * 60_000,
      onKill(kill) {
        commits += kill.commits;
        if (kill.number % 10 === 0) say(`${kill.number} kills, ${commits} commits`);
      },
    });
    const { kills, verdict } = report;
    const count = (which: (kill: Kill) => boolean): number => kills.filter(which).length;
    isBad = verdict.violations.length > 0;

    say(
      [
        `kills          ${kills.length} (${count(({ tornCommit }) => tornCommit)} within a commit, ` +
          `${count(({ snapshots }) => snapshots.length > 0)} within a first snapshot, ` +
          `${count(({ kept }) => kept > 0)} with images kept)`,
        `restarts       ${report.restarts}`,
        `writes         ${report.writes} to the API`,
        figuresOf(verdict),
      ].join('\n'),
    );
    expectGood(verdict, report.exitCode);
    expect(kills.length).toBeGreaterThan(0);
  },
  (minutes + 10) * 60_000,
);
