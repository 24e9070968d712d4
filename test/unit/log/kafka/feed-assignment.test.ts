import fc from 'fast-check';
import { assignFeeds, type Member } from '../../../../src/log/kafka/group/owners-protocol';
import { runs } from '../../../support/runs';

const FEEDS = ['analysts', 'insights', 'ipos'];

function member(memberId: string, more: Partial<Member> = {}): Member {
  const claims = { memberId, feeds: {} };
  return {
    memberId,
    instance: `host:${memberId}`,
    isGuest: false,
    declined: [],
    feeds: FEEDS,
    process: { place: 'here', pid: 1 },
    claims,
    ...more,
  };
}

function holding(memberId: string, feeds: readonly string[], generation = 1): Member {
  return member(memberId, {
    claims: { memberId, feeds: Object.fromEntries(feeds.map((feed) => [feed, generation])) },
  });
}

function given(...members: Member[]): Record<string, string[]> {
  return Object.fromEntries([...assignFeeds(members)].map(([id, feeds]) => [id, [...feeds].sort()]));
}

/** The members of a group as they are at its next join: each claims what it was given. */
function afterwards(members: readonly Member[], generation: number): Member[] {
  const feeds = assignFeeds(members);
  return members.map((one) => ({
    ...one,
    claims: {
      memberId: one.memberId,
      feeds: Object.fromEntries(feeds.get(one.memberId)!.map((feed) => [feed, generation])),
    },
  }));
}

it('a member that comes or goes moves only the feeds that it gets or had', () => {
  const two = afterwards(afterwards([member('a'), member('b')], 1), 2);
  const three = afterwards([...two, member('c')], 3);
  expect(three.map(({ claims }) => Object.keys(claims.feeds).length)).toEqual([1, 1, 1]);
  for (const { memberId, claims } of three.slice(0, 2)) {
    const before = two.find((one) => one.memberId === memberId)!;
    expect(Object.keys(before.claims.feeds)).toEqual(expect.arrayContaining(Object.keys(claims.feeds)));
  }
  const left = afterwards(three.slice(1), 4);
  for (const { memberId, claims } of three.slice(1)) {
    const now = left.find((one) => one.memberId === memberId)!;
    expect(Object.keys(now.claims.feeds)).toEqual(expect.arrayContaining(Object.keys(claims.feeds)));
  }
});

it('the rest is not spread by chance: members of any names keep the feeds that they have or had', () => {
  for (let i = 0; i < 20; i++) {
    const [a, b] = [holding(`a${i}`, ['insights', 'ipos']), holding(`b${i}`, ['analysts'])];
    const guest = member(`g${i}`, { isGuest: true });
    expect(given(a, b, guest)).toEqual({
      [a.memberId]: ['insights', 'ipos'],
      [b.memberId]: ['analysts'],
      [guest.memberId]: [],
    });
    const back = member(`new${i}`, { claims: { memberId: 'old', feeds: { ipos: 3 } } });
    expect(given(member(`c${i}`), back, member(`d${i}`))[back.memberId]).toEqual(['ipos']);
  }
});

it('a guest takes nothing from those that stay, keeps what it has while they come, and has all when it is alone', () => {
  const guest = member('g', { isGuest: true });
  expect(given(guest, holding('a', FEEDS))).toEqual({ g: [], a: FEEDS });
  expect(given(guest, member('a'))).toEqual({ g: [], a: FEEDS });
  expect(given(guest)).toEqual({ g: FEEDS });
  const working = { ...holding('g', ['ipos']), isGuest: true, feeds: ['ipos'] };
  expect(given(working, member('a'))).toEqual({ g: ['ipos'], a: ['analysts', 'insights'] });
});

describe('whatever the members say', () => {
  const anyFeeds = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
  const anyMember = fc.record({
    isGuest: fc.boolean(),
    feeds: anyFeeds,
    claimed: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'gone'), fc.nat(9)),
    isStale: fc.boolean(),
  });
  const anyGroup = fc.array(anyMember, { minLength: 1, maxLength: 6 }).map((some) =>
    some.map(({ isGuest, feeds, claimed, isStale }, i) => {
      const memberId = `m${i}`;
      return member(memberId, {
        isGuest,
        feeds,
        claims: { memberId: isStale ? `old${i}` : memberId, feeds: claimed },
      });
    }),
  );

  it('each feed has one owner, who can publish it', () => {
    fc.assert(
      fc.property(anyGroup, (members) => {
        const result = assignFeeds(members);
        const all = [...result.values()].flat();
        expect([...all].sort()).toEqual([...new Set(members.flatMap(({ feeds }) => feeds))].sort());
        for (const { memberId, feeds } of members) {
          for (const feed of result.get(memberId)!) expect(feeds).toContain(feed);
        }
      }),
      { numRuns: runs(150) },
    );
  });

  it('a guest is given no feed that it did not have and another one can publish', () => {
    fc.assert(
      fc.property(anyGroup, (members) => {
        const result = assignFeeds(members);
        const regulars = members.filter(({ isGuest }) => !isGuest);
        for (const { memberId, claims } of members.filter(({ isGuest }) => isGuest)) {
          for (const feed of result.get(memberId)!) {
            if (claims.memberId === memberId && feed in claims.feeds) continue;
            expect(regulars.filter(({ feeds }) => feeds.includes(feed))).toStrictEqual([]);
          }
        }
      }),
      { numRuns: runs(150) },
    );
  });

  it('the order in which they come changes nothing', () => {
    fc.assert(
      fc.property(anyGroup, (members) => {
        const sorted = (group: readonly Member[]) =>
          [...assignFeeds(group)].map(([id, feeds]) => [id, [...feeds].sort()]).sort();
        expect(sorted([...members].reverse())).toEqual(sorted(members));
      }),
      { numRuns: runs(100) },
    );
  });

  it('instances that can all publish everything differ by one feed at most', () => {
    const alike = anyGroup.map((members) =>
      members.map((one) => ({ ...one, isGuest: false, feeds: ['a', 'b', 'c', 'd', 'e'] })),
    );
    fc.assert(
      fc.property(alike, (members) => {
        const counts = [...assignFeeds(members).values()].map(({ length }) => length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
      { numRuns: runs(100) },
    );
  });

  it('a group that joins again without a change comes to rest, and among instances that are alike at once', () => {
    const feedsOf = (group: readonly Member[]) => group.map(({ claims }) => Object.keys(claims.feeds).sort());
    const rejoined = (group: readonly Member[], times: number) =>
      Array.from({ length: times }).reduce<Member[]>((now, _, i) => afterwards(now, 20 + i), [...group]);
    fc.assert(
      fc.property(anyGroup, fc.boolean(), (members, isAlike) => {
        const group = isAlike
          ? members.map((one) => ({ ...one, isGuest: false, feeds: ['a', 'b', 'c', 'd', 'e'] }))
          : members;
        const times = isAlike ? 1 : 4;
        expect(feedsOf(rejoined(group, times + 1))).toEqual(feedsOf(rejoined(group, times)));
      }),
      { numRuns: runs(150) },
    );
  });
});
