import path from 'node:path';
import { runApi } from '../faults/api-run';
import { embeddedLog } from '../faults/publisher-log';
import { apiFeeds } from '../support/apis/feeds';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const named = apiFeeds.map(({ of, hostility }) => [of.shape.name, of, hostility] as const);

describe('a publisher of an API that is not ours, hostile, with kills', () => {
  it.each(named)(
    '%s: ends with the rows that the API shows, and a chain of changes that leads there',
    async (_name, of, hostility) => {
      const data = path.join(folder(), 'data');
      const report = await runApi(of, {
        seed: Number(process.env.API_SEED ?? 1),
        rows: 180,
        writes: 240,
        hostility,
        log: embeddedLog(data),
        folder: data,
      });
      expect(describeVerdict(report.verdict)).toBe('nothing to object to');
      expect([report.exitCode, report.answers[500]! > 0, report.answers[0]! > 0]).toEqual([0, true, true]);
      const { byOp, deadLetters } = report.verdict.feeds[of.feed]!;
      expect([byOp.r! > 0, byOp.c! > 0, byOp.u! > 0, byOp.d! > 0, deadLetters]).toEqual([
        true,
        true,
        true,
        true,
        0,
      ]);
    },
  );
});
