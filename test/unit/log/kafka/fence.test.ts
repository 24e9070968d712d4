import { isFence } from '../../../../src/log/kafka/reader/fence';

const key = '__highwater_fence';

it('a fence is told from the delete of a record by its header', () => {
  expect(isFence({ key, value: null, headers: { owner_epoch: 'e' } })).toBe(true);
  expect(isFence({ key, value: null, headers: { event_id: 'ipos:i:1', seq: '1', incarnation: 'i' } })).toBe(
    false,
  );
  expect(isFence({ key, value: null, headers: {} })).toBe(false);
});

it('a source offset has the same header, and is no fence', () => {
  expect(isFence({ key: 'ipos', value: Buffer.from('x'), headers: { owner_epoch: 'e' } })).toBe(false);
});
