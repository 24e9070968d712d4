import { connect } from '../../../src/consumer';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';

/** Mistakes that TypeScript would find, and for which a program without it would wait in vain. */
const folder = tempFolder();
const log = () => connect({ dataDir: folder(), logger: quietLogger() });
const [group, topics] = ['desk', ['ipos']];
const handler = () => undefined;

it.each<[string, unknown, unknown, RegExp]>([
  ['no group', { topics }, handler, /group/],
  ['topics that are one text', { group, topics: 'ipos' }, handler, /topics.*array/],
  ['no topics', { group, topics: [] }, handler, /topics/],
  ['a filter that is no list', { group, topics, where: { symbol: 'AAPL' } }, handler, /where: symbol/],
  ['a filter that there is not', { group, topics, where: { ticker: ['AAPL'] } }, handler, /ticker/],
  ['another beginning', { group, topics, from: 'start' }, handler, /from/],
  ['another way to fail', { group, topics, onFailure: 'skip' }, handler, /onFailure/],
  ['no tries', { group, topics, retry: { attempts: Number.NaN } }, handler, /attempts/],
  ['an option that there is not', { group, topics, fromBeginning: true }, handler, /fromBeginning/],
  ['no handler', { group, topics }, undefined, /handler/],
  [
    'dead letters that have no name',
    { group: 'a b', topics, onFailure: 'dead-letter' },
    handler,
    /a b\.dead-letters/,
  ],
  [
    'dead letters of a feed',
    { group: 'ipos', topics, onFailure: 'dead-letter' },
    handler,
    /ipos\.dead-letters.*feed/,
  ],
])('a consumer is not begun with %s', async (_, options, given, message) => {
  await expect(log().consume(options as never, given as never)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
  });
});

it.each([0, -1, 1.5, Number.NaN])('batches of at most %p events are none', async (maxBatch) => {
  const consuming = log().consumeBatches({ group, topics, maxBatch }, handler);
  await expect(consuming).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

it('reading and connecting say at once what they were not told', () => {
  const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' });
  expect(() => log().read('ipos', { where: { op: 'u' } } as never)).toThrow(invalid);
  expect(() => log().read(undefined as never)).toThrow(invalid);
  expect(() => connect({ brokers: ['localhost:9092'] } as never)).toThrow(invalid);
  expect(() => connect({ kafka: { brokers: ['localhost:9092'] } } as never)).toThrow(invalid);
});

it('an undefined option counts as left out, and a signal may have been aborted before', async () => {
  const nothing = { from: undefined, where: undefined, retry: undefined, positions: undefined };
  const signal = AbortSignal.abort();
  await log().consume({ group, topics, signal, ...nothing } as never, handler);
  await log().consumeBatches({ group, topics, signal, maxBatch: undefined } as never, handler);
});
