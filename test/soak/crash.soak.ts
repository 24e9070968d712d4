import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Kill, runCrashes } from '../faults/crash-run';
import { embeddedLog } from '../faults/publisher-log';
import { countHarms, describeVerdict } from '../support/judge/verdict';

/**
 * The crash test in its long form. Settings: KILLS (200), SOAK_MINUTES after which no further kill comes (30), SEED (drawn),
 * KEEP=1 to keep the log of a run that failed.
 */
const wanted = Number(process.env.KILLS ?? 200);
const minutes = Number(process.env.SOAK_MINUTES ?? 30);
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
const folder = mkdtempSync(path.join(tmpdir(), 'highwater-soak-'));
let keep = false;

afterAll(() => {
  if (!keep) rmSync(folder, { recursive: true, force: true });
});

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

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
    const harms = countHarms(verdict.violations);
    const events = Object.values(verdict.feeds).reduce((sum, feed) => sum + feed.events, 0);
    const allCommits = Object.values(verdict.feeds).reduce((sum, feed) => sum + feed.commits, 0);
    const count = (which: (kill: Kill) => boolean): number => kills.filter(which).length;
    keep = process.env.KEEP === '1' && verdict.violations.length > 0;

    say(
      [
        `kills          ${kills.length} (${count(({ tornCommit }) => tornCommit)} within a commit, ` +
          `${count(({ snapshots }) => snapshots.length > 0)} within a first snapshot)`,
        `restarts       ${report.restarts}`,
        `writes         ${report.writes} to the API`,
        `commits        ${allCommits}`,
        `events         ${events}`,
        `lost           ${harms.lost}`,
        `twice          ${harms.twice}`,
        `out of order   ${harms.order}`,
        `torn           ${harms.torn}`,
        `wrong          ${harms.wrong}`,
        `verdict        ${describeVerdict(verdict)}`,
        ...(keep ? [`log            ${folder}`] : []),
      ].join('\n'),
    );
    expect(verdict.violations).toStrictEqual([]);
    expect(report.exitCode).toBe(0);
    expect(kills.length).toBeGreaterThan(0);
  },
  (minutes + 10) * 60_000,
);
