import path from 'node:path';
import { describeVerdict } from '../support/judge/verdict';
import { tempFolder } from '../support/temp-folder';
import { runMarket } from './market-run';
import { embeddedLog } from './publisher-log';

const folder = tempFolder();

/** Days; weeks are `npm run soak:market`. */
describe('days at the market, with operators and kills', () => {
  it('end with the records that the API shows, and a chain of changes that leads there', async () => {
    const data = path.join(folder(), 'data');
    const report = await runMarket({
      seed: Number(process.env.MARKET_SEED ?? 1),
      ms: 9_000,
      everyMs: 12,
      records: { insights: 200, analysts: 100, ipos: 250 },
      log: embeddedLog(data),
      folder: data,
    });
    expect(describeVerdict(report.verdict)).toBe('nothing to object to');
    expect(report.exitCode).toBe(0);
    expect(report.kills).toBeGreaterThan(0);
    expect(report.rotations).toBeGreaterThan(0);
    expect(report.backups).toBeGreaterThan(0);
    expect(report.outcomes.done).toBeGreaterThan(5);
    expect(report.days).toBeGreaterThan(1);
    const { insights, ipos } = report.verdict.feeds;
    expect((insights!.byOp.d ?? 0) + (ipos!.byOp.d ?? 0)).toBeGreaterThan(0);
  });
});
