import fc from 'fast-check';
import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';
import { analyst, insight, ipo } from '../../support/records';
import { runs } from '../../support/runs';

/** Names that every object of JavaScript answers to. A vendor may use any of them as the name of a member. */
const inherited = [...Object.getOwnPropertyNames(Object.prototype), 'toJSON', 'prototype'];

const feeds = [
  ['ipos', ipo],
  ['analysts', analyst],
  ['insights', insight],
] as const;

/** As JSON.parse makes it: `__proto__` is a member like any other. */
function withMembers(row: object, members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(Object.assign(Object.create(null), row, members)));
}

function dictionary(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const members = Object.create(null);
  for (const [name, value] of entries) members[name] = value;
  return members;
}

describe.each(feeds)('%s', (name, row) => {
  it('members of any name are compared, published and restored as they came (property)', async () => {
    const memberName = fc.oneof(fc.constantFrom(...inherited), fc.string({ maxLength: 3 }));
    const member = fc.tuple(memberName, fc.constantFrom<unknown>(1, 'a', null, [], { constructor: 1 }));
    const members = fc.uniqueArray(member, { maxLength: 4, selector: ([one]) => one });
    await fc.assert(
      fc.asyncProperty(fc.array(members, { maxLength: 5 }), async (versions) => {
        const pipeline = await testPipeline(testFeed(name));
        const known = row({ id: 'x', updated: 1 });
        const reserved = new Set(Object.keys(known));
        pipeline.page([known]);
        let before = dictionary([]);
        for (const [i, version] of versions.entries()) {
          const extra = version.filter(([one]) => !reserved.has(one) && one.isWellFormed());
          const page = [withMembers({ ...known, updated: i + 2 }, dictionary(extra))];
          const events = pipeline.page(page);
          const texts = dictionary(extra.map(([one, value]) => [one, JSON.stringify(value)]));
          const names = [...new Set([...Object.keys(before), ...Object.keys(texts)])];
          // An unknown member that is null is as good as absent.
          const differ = names.filter((one) => (before[one] ?? 'null') !== (texts[one] ?? 'null'));
          expect(events.flatMap(({ tail }) => tail.changed_fields).sort()).toEqual(
            differ.map((one) => `extra.${one}`).sort(),
          );
          if (events.length > 0) {
            const { extra: published } = pipeline.images(events[0]!).after!;
            expect(new Map(Object.entries(published))).toEqual(new Map(Object.entries(texts)));
            before = texts;
          }
          expect(pipeline.page(page)).toStrictEqual([]);
          if (i % 2 === 0) await pipeline.restart();
        }
      }),
      { numRuns: runs(15) },
    );
  });
});
