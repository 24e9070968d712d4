import { type ConsumeOptions, connect } from '../../../src/consumer';
import { quietLogger } from '../../support/source';
import { tempFolder } from '../../support/temp-folder';

/** Mistakes that TypeScript does not find. */
const folder = tempFolder();
const log = () => connect({ dataDir: folder(), logger: quietLogger() });
const [group, topics] = ['desk', ['ipos']];
const handler = () => undefined;

it.each<[string, ConsumeOptions, RegExp]>([
  ['no group', { group: '', topics }, /group/],
  ['no topics', { group, topics: [] }, /topics/],
  ['dead letters that have no name', { group: 'a b', topics, onFailure: 'dead-letter' }, /a b\.dead-letters/],
  ['dead letters of a feed', { group: 'ipos', topics, onFailure: 'dead-letter' }, /ipos\.dead-letters.*feed/],
])('a consumer is not begun with %s', async (_, options, message) => {
  await expect(log().consume(options, handler)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
  });
});

it.each([0, -1, 1.5, Number.NaN])('batches of at most %p events are none', async (maxBatch) => {
  const consuming = log().consumeBatches({ group, topics, maxBatch }, handler);
  await expect(consuming).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

it('connecting says at once what it was not told', () => {
  const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' });
  expect(() => connect({ brokers: ['localhost:9092'] } as never)).toThrow(invalid);
  expect(() => connect({ kafka: { brokers: ['localhost:9092'] } } as never)).toThrow(invalid);
});

it('an undefined option counts as left out, and a signal may have been aborted before', async () => {
  const nothing = { from: undefined, where: undefined, retry: undefined, positions: undefined };
  const signal = AbortSignal.abort();
  await log().consume({ group, topics, signal, ...nothing } as never, handler);
  await log().consumeBatches({ group, topics, signal, maxBatch: undefined } as never, handler);
});
