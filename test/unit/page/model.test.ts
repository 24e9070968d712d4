import { firstModel, lostSince, type Message, type Model, reduce } from '../../../src/admin/page/model/model';
import { nextPoll } from '../../../src/admin/page/model/text';
import { aChange, aFeed, aPublisher, aTransition } from '../../support/views';

const told = (...messages: Message[]): Model => messages.reduce(reduce, firstModel);
const changes = (given: Partial<Extract<Message, { kind: 'changes' }>['view']>): Message => ({
  kind: 'changes',
  view: { fresh: false, changes: [], left: 0, ...given },
});
const titles = ({ rows }: Model) => rows.map(({ change }) => change.title);

it('puts the newest change on top, and numbers rows by arrival', () => {
  const model = told(
    changes({
      changes: [aChange({ title: 'first', observedAtMs: 1 }), aChange({ title: 'second', observedAtMs: 1 })],
    }),
    changes({ changes: [aChange({ title: 'third', observedAtMs: 1 })] }),
  );
  expect(titles(model)).toEqual(['third', 'second', 'first']);
  expect(model.rows.map(({ id }) => id)).toEqual([2, 1, 0]);
});

it('puts what comes late where it belongs', () => {
  const at = (title: string, observedAtMs: number) => aChange({ title, observedAtMs });
  const model = told(
    changes({ changes: [at('ipos 1', 1_000), at('ipos 3', 3_000)] }),
    changes({ changes: [at('insights 2', 2_000), at('insights 3', 3_000)] }),
  );
  expect(titles(model)).toEqual(['insights 3', 'ipos 3', 'insights 2', 'ipos 1']);
});

it('forgets what it has when the server begins anew, but never gives a number twice', () => {
  const model = told(
    changes({ changes: [aChange({ n: 1 }), aChange({ n: 2 })], left: 5 }),
    changes({ fresh: true, changes: [aChange({ n: 1, title: 'after the restart' })], left: 2 }),
  );
  expect(titles(model)).toEqual(['after the restart']);
  expect(model.rows[0]!.id).toBe(2);
  expect(model.left).toBe(2);
});

it('counts what the server did not send, until the list is cleared', () => {
  const flooded = told(changes({ left: 300 }), changes({ left: 200, changes: [aChange()] }));
  expect(flooded.left).toBe(500);
  const cleared = reduce(flooded, { kind: 'cleared' });
  expect([cleared.left, cleared.rows]).toStrictEqual([0, []]);
});

it('keeps the newest 2000 rows', () => {
  const many = Array.from({ length: 1_500 }, (_, at) => aChange({ title: String(at), observedAtMs: 1 }));
  const model = told(changes({ changes: many }), changes({ changes: many }));
  expect(model.rows).toHaveLength(2_000);
  expect(model.rows[0]!.id).toBe(2_999);
});

it('remembers the types of transitions that it has seen', () => {
  const of = (type: string) => aChange({ transitions: [aTransition({ type })] });
  const model = told(
    changes({ changes: [of('RatingChanged')] }),
    changes({ changes: [of('DealStatusChanged'), of('RatingChanged')] }),
  );
  expect(model.types).toEqual(['DealStatusChanged', 'RatingChanged']);
});

it('counts by the clock of the publisher', () => {
  const model = told({ kind: 'publisher', view: aPublisher({ nowMs: 50_000 }), atMs: 20_000 });
  expect(model.aheadMs).toBe(30_000);
});

describe('the connection', () => {
  const heard: Message[] = [{ kind: 'opened' }, { kind: 'feeds', views: [], atMs: 10_000 }];

  it('is lost since the publisher was last heard, however often it is tried again', () => {
    const model = told(...heard, { kind: 'lost', atMs: 12_000 }, { kind: 'lost', atMs: 16_000 });
    expect(lostSince(model, 20_000)).toBe(10_000);
  });

  it('is lost since the first try when the publisher was never heard', () => {
    const model = told({ kind: 'lost', atMs: 12_000 }, { kind: 'lost', atMs: 16_000 });
    expect(lostSince(model, 20_000)).toBe(12_000);
  });

  it('is lost when the publisher says nothing, though the connection stands', () => {
    expect(lostSince(told(...heard), 21_000)).toBeNull();
    expect(lostSince(told(...heard), 23_000)).toBe(10_000);
  });

  it('is there again with what it is told', () => {
    const back: Message[] = [{ kind: 'opened' }, { kind: 'feeds', views: [], atMs: 30_000 }];
    expect(lostSince(told(...heard, { kind: 'lost', atMs: 12_000 }, ...back), 31_000)).toBeNull();
  });
});

describe('the next poll', () => {
  it('is of the feed that waits the shortest', () => {
    const feeds = [
      aFeed('insights', { lastCompleteScanMs: 10_000, pollIntervalMs: 60_000 }),
      aFeed('ipos', { lastCompleteScanMs: 20_000, pollIntervalMs: 20_000 }),
    ];
    expect(nextPoll(feeds, 28_000)).toEqual({ feed: 'ipos', inMs: 12_000 });
  });

  it('is not expected of feeds that are parked or paused', () => {
    expect(
      nextPoll([aFeed('ipos', { condition: 'parked' }), aFeed('insights', { condition: 'paused' })], 0),
    ).toBeNull();
  });
});
