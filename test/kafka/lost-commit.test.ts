import path from 'node:path';
import { feedNames } from '../../src/simulator/endpoints';
import { type Cut, cutCommits } from '../faults/commit-cuts';
import { observed, runCrashes } from '../faults/crash-run';
import { proxiedPublisherLog } from '../faults/kafka-publisher-log';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
const seed = Number(process.env.CRASH_SEED ?? 1);
const publisherLog = proxiedPublisherLog();

async function ownerEpochs(): Promise<(string | undefined)[]> {
  const seen = await observed(publisherLog().log);
  return feedNames.map((feed) => seen[feed]?.owner_epoch);
}

/** The cuts hit pages more than fences, and left out no feed. */
function haveHitAll(cuts: readonly Cut[]): boolean {
  const ofPages = cuts.filter(({ ofPage }) => ofPage);
  return (
    ofPages.length >= cuts.length / 2 && feedNames.every((name) => ofPages.some(({ feed }) => feed === name))
  );
}

/** Which feed a cut hits is chance. */
const MOST_ROUNDS = 5;

describe('commits that are lost on their way to the broker, and answers that are lost on their way back', () => {
  it('are told apart: nothing is lost and nothing published twice', async () => {
    const { kafka, log } = publisherLog();
    const cuts: Record<'request' | 'answer', Cut[]> = { request: [], answer: [] };
    const owners: (string | undefined)[][] = [];
    const { restarts, exitCode, verdict } = await runCrashes({
      seed,
      kills: 0,
      earlyKills: 0,
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 20 },
      log,
      folder: path.join(folder(), 'run'),
      async strikes(publisher) {
        await until(async () => !(await ownerEpochs()).includes(undefined));
        owners.push(await ownerEpochs());
        for (const where of ['request', 'answer'] as const)
          for (let i = 0; i < MOST_ROUNDS && (i === 0 || !haveHitAll(cuts[where])); i++)
            cuts[where].push(
              ...(await cutCommits({ where, every: 4, times: 20 }, publisher, kafka.proxy)).cuts,
            );
        owners.push(await ownerEpochs());
      },
    });

    expect(describeVerdict(verdict)).toBe('nothing to object to');
    // One process went through all of it, and each feed in one ownership.
    expect({ restarts, exitCode }).toEqual({ restarts: 0, exitCode: 0 });
    expect(owners[1]).toEqual(owners[0]);
    for (const made of Object.values(cuts)) {
      expect(made.length).toBeGreaterThanOrEqual(20);
      expect(haveHitAll(made)).toBe(true);
    }
    for (const counts of Object.values(verdict.feeds)) {
      expect(counts.byOp.r).toBeGreaterThan(0);
      expect(counts.byOp.u).toBeGreaterThan(0);
    }
  });
});
