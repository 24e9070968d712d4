import path from 'node:path';
import { runApi } from '../faults/api-run';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { apiFeeds } from '../support/apis/feeds';
import { describeVerdict } from '../support/judge/verdict';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const named = apiFeeds.map(({ of, hostility }) => [of.shape.name, of, hostility] as const);

beforeAll(() => sharedServers());

describe('a publisher on Kafka of an API that is not ours, hostile, with kills', () => {
  it.each(named)(
    '%s: ends with the rows that the API shows, and a chain of changes that leads there',
    async (_name, of, hostility) => {
      const { brokers, registryUrl } = await sharedServers();
      const place = { brokers, direct: brokers, registryUrl, prefix: uniquePrefix(), proxy: null };
      const log = await kafkaPublisherLog(place);
      try {
        const seed = Number(process.env.API_SEED ?? 1);
        const data = path.join(folder(), 'data');
        const report = await runApi(of, { seed, rows: 180, writes: 240, hostility, log, folder: data });
        expect(describeVerdict(report.verdict)).toBe('nothing to object to');
        expect([report.exitCode, report.answers[500]! > 0]).toEqual([0, true]);
        const { byOp, deadLetters } = report.verdict.feeds[of.feed]!;
        const seen = [byOp.r! > 0, byOp.c! > 0, byOp.u! > 0, byOp.d! > 0, deadLetters];
        expect(seen).toEqual([true, true, true, true, 0]);
      } finally {
        await log.stop();
      }
    },
  );
});
