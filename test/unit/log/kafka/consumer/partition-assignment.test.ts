import fc from 'fast-check';
import { assignPartitions, type Subscriber } from '../../../../../src/log/kafka/consumer/subscription';
import type { TopicPartitions } from '../../../../../src/log/kafka/group/member-data';
import { runs } from '../../../../support/runs';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

function subscriber(memberId: string, topics: readonly string[] = ['t']): Subscriber {
  return { memberId, topics, claims: { generation: -1, partitions: {} } };
}

/** The members of a group as they are at its next join: each claims what it was given. */
function afterwards(
  members: readonly Subscriber[],
  partitions: TopicPartitions,
  generation: number,
): Subscriber[] {
  const given = assignPartitions(members, partitions);
  return members.map((one) => ({ ...one, claims: { generation, partitions: given.get(one.memberId)! } }));
}

const placesOf = (partitions: TopicPartitions) =>
  Object.entries(partitions).flatMap(([topic, own]) => own.map((partition) => `${topic} ${partition}`));
const count = (partitions: TopicPartitions) => placesOf(partitions).length;

it('the claim of the later generation counts', () => {
  const zombie = { ...subscriber('a'), claims: { generation: 3, partitions: { t: [0, 1] } } };
  const successor = { ...subscriber('b'), claims: { generation: 4, partitions: { t: [0] } } };
  const given = assignPartitions([zombie, successor], { t: [0, 1] });
  expect(Object.fromEntries(given)).toEqual({ a: { t: [1] }, b: { t: [0] } });
});

it('the partitions of each topic are spread, not one topic here and one there', () => {
  const given = assignPartitions([subscriber('a', ['t', 'u']), subscriber('b', ['t', 'u'])], {
    t: [0, 1],
    u: [0, 1],
  });
  for (const partitions of given.values()) expect(Object.keys(partitions).sort()).toEqual(['t', 'u']);
});

it('between equal members, the one with fewer partitions of the topic takes the partition', () => {
  const b = { ...subscriber('b', ['t', 'u']), claims: { generation: 1, partitions: { t: [0] } } };
  const given = assignPartitions([subscriber('a', ['t', 'u']), b], { t: [0], u: [0, 1] });
  expect(Object.fromEntries(given)).toEqual({ a: { u: [0] }, b: { t: [0], u: [1] } });
});

it('a new member that subscribes to fewer topics gets its share of them from the members that have them', () => {
  const topics = { t: numbers(2), u: numbers(4) };
  const alone = afterwards([subscriber('a', ['t', 'u'])], topics, 1);
  const given = assignPartitions([...alone, subscriber('b', ['u'])], topics);
  expect(Object.fromEntries(given)).toEqual({ a: { t: [0, 1], u: [0] }, b: { u: [1, 2, 3] } });
  const two = { t: [], u: numbers(2) };
  const both = assignPartitions([...afterwards(alone, two, 2), subscriber('b', ['u'])], two);
  expect(Object.fromEntries(both)).toEqual({ a: { u: [0] }, b: { u: [1] } });
});

it('a partition that a member gives away makes room for one that another member has too many of', () => {
  const claims = (topic: string) => ({ generation: 1, partitions: { [topic]: numbers(4) } });
  const members = [
    { ...subscriber('a', ['w']), claims: claims('w') },
    { ...subscriber('b', ['v', 'w']), claims: claims('v') },
    subscriber('c', ['v']),
  ];
  const given = assignPartitions(members, { v: numbers(4), w: numbers(4) });
  expect([...given.values()].map(count)).toEqual([3, 3, 2]);
});

describe('whatever the members', () => {
  const anyTopics = fc
    .record({ t: fc.nat(7), u: fc.nat(7), v: fc.nat(7) })
    .map(
      (counts): TopicPartitions =>
        Object.fromEntries(Object.entries(counts).map(([topic, length]) => [topic, numbers(length)])),
    );
  const anyMembers = (isAlike: boolean) =>
    fc
      .array(
        fc.record({
          topics: isAlike
            ? fc.constant(['t', 'u', 'v'])
            : fc.uniqueArray(fc.constantFrom('t', 'u', 'v', 'gone'), { minLength: 1 }),
          claims: fc.record({
            generation: fc.integer({ min: -1, max: 5 }),
            partitions: fc.dictionary(
              fc.constantFrom('t', 'u', 'v', 'gone'),
              fc.uniqueArray(fc.nat(8), { maxLength: 8 }),
            ),
          }),
        }),
        { minLength: 1, maxLength: 5 },
      )
      .map((some) => some.map((one, i): Subscriber => ({ ...one, memberId: `m${i}` })));

  it('each partition of a topic that somebody wants has one member, who wants it', () => {
    fc.assert(
      fc.property(anyMembers(false), anyTopics, (members, topics) => {
        const given = assignPartitions(members, topics);
        const wanted = Object.fromEntries(
          Object.entries(topics).filter(([topic]) => members.some((one) => one.topics.includes(topic))),
        );
        expect([...given.values()].flatMap(placesOf).sort()).toEqual(placesOf(wanted).sort());
        for (const { memberId, topics: own } of members)
          expect(own).toEqual(expect.arrayContaining(Object.keys(given.get(memberId)!)));
      }),
      { numRuns: runs(150) },
    );
  });

  it('members that want the same differ by one at most, and nothing moves when they join again', () => {
    fc.assert(
      fc.property(anyMembers(true), anyTopics, (members, topics) => {
        const first = afterwards(members, topics, 9);
        const counts = first.map(({ claims }) => count(claims.partitions));
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        expect(afterwards(first, topics, 10).map(({ claims }) => claims.partitions)).toEqual(
          first.map(({ claims }) => claims.partitions),
        );
      }),
      { numRuns: runs(150) },
    );
  });

  it('nothing moves when they join again, whatever they want', () => {
    fc.assert(
      fc.property(anyMembers(false), anyTopics, (members, topics) => {
        const first = afterwards(members, topics, 9);
        expect(afterwards(first, topics, 10)).toEqual(
          first.map(({ claims, ...one }) => ({ ...one, claims: { ...claims, generation: 10 } })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('a new member moves only the partitions that it gets, and a leaving member only those that it had', () => {
    fc.assert(
      fc.property(anyMembers(true), anyTopics, (members, topics) => {
        const before = afterwards(members, topics, 9);
        const more = afterwards([...before, subscriber('new', ['t', 'u', 'v'])], topics, 10);
        for (const [i, one] of before.entries())
          expect(placesOf(one.claims.partitions)).toEqual(
            expect.arrayContaining(placesOf(more[i]!.claims.partitions)),
          );
        const fewer = afterwards(more.slice(0, -1), topics, 11);
        for (const [i, one] of fewer.entries())
          expect(placesOf(one.claims.partitions)).toEqual(
            expect.arrayContaining(placesOf(more[i]!.claims.partitions)),
          );
      }),
      { numRuns: runs(150) },
    );
  });

  it('the order in which they come changes nothing', () => {
    fc.assert(
      fc.property(anyMembers(false), anyTopics, (members, topics) => {
        const sorted = (some: readonly Subscriber[], all: TopicPartitions) =>
          [...assignPartitions(some, all)].sort();
        const backward = Object.entries(topics).reverse();
        const turned = Object.fromEntries(backward.map(([topic, own]) => [topic, [...own].reverse()]));
        expect(sorted([...members].reverse(), turned)).toEqual(sorted(members, topics));
      }),
      { numRuns: runs(100) },
    );
  });
});
