import type { Command, Facts, Outcome } from '../../src/commands/command';
import type { Feed } from '../../src/feeds/feed';
import type { Turns } from '../../src/runtime/carry-out';
import { carryOut } from '../../src/runtime/carry-out';
import type { Simulator } from '../../src/simulator/simulator';
import type { PageRequest, SourcePage } from '../../src/source/source';
import { daysAgo, shownBetween } from '../support/backfill';
import { testFeed } from '../support/feeds';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

const feed: Feed = testFeed('ipos', { pageSize: 10 });
const alone: Turns = { between: async () => {}, rest: async () => {}, poll: async () => {} };
let publisher: TestPublisher;

beforeEach(async () => {
  ({ publisher } = await world({
    feed,
    vendor: { records: { insights: 0, analysts: 0, ipos: 60 } },
  }));
  await publisher.poll();
});

/** The outcome, and the lines before it. */
async function carriedOut(
  command: Command,
  turns: Partial<Turns> = {},
  signal: AbortSignal = new AbortController().signal,
  of: Feed = feed,
): Promise<{ outcome: Outcome; told: [string, Facts][] }> {
  const outcomes: Outcome[] = [];
  const told: [string, Facts][] = [];
  const request = {
    command,
    progress: (summary: string, facts: Facts) => void told.push([summary, facts]),
    answer: (outcome: Outcome) => void outcomes.push(outcome),
  };
  await carryOut(of, publisher.owned(), request, signal, { ...alone, ...turns });
  expect(outcomes).toHaveLength(1);
  return { outcome: outcomes[0]!, told };
}

/** Aborts the command after this many pages. */
async function cutAfter(pages: number, command: Command): Promise<Outcome> {
  const stop = new AbortController();
  let n = 0;
  const between = async () => {
    if (++n === pages) stop.abort();
    stop.signal.throwIfAborted();
  };
  return (await carriedOut(command, { between }, stop.signal)).outcome;
}

const backfill = (from: number, to: number) =>
  ({ name: 'backfill', from: daysAgo(from), to: daysAgo(to) }) as const;

it('says that the process was stopped, whoever carried the command out', async () => {
  expect(await cutAfter(2, { name: 'reconcile', dryRun: false, allowDeletes: null })).toMatchObject({
    error: {
      code: 'COMMAND_INTERRUPTED',
      message: 'reconcile of feed ipos: the process that carried it out was stopped',
    },
  });
});

it('a backfill that is asked for again goes on, and nothing is said of another one', async () => {
  const all = backfill(500, 0);
  await cutAfter(3, all);
  expect(publisher.owned().deps.state.offset.backfill).toMatchObject({ pages: 2 });
  const { outcome } = await carriedOut(all);

  expect(outcome).toMatchObject({ ok: true, summary: expect.not.stringContaining('given up') });
  expect(publisher.logger.warnings).toStrictEqual([]);
});

it('a backfill of other dates takes the place of an unfinished one, and says so in log, progress and answer', async () => {
  const [first, other] = [backfill(500, 0), backfill(500, 100)];
  await cutAfter(4, first);
  const { outcome, told } = await carriedOut(other);

  const facts = { givenUpFrom: first.from, givenUpTo: first.to };
  const said = new RegExp(`backfill from ${first.from} to ${first.to} is given up at [1-9]\\d? %`);
  expect(told[0]).toEqual([expect.stringMatching(said), facts]);
  expect(publisher.logger.warnings).toEqual([expect.stringMatching(said)]);
  expect(outcome).toMatchObject({
    ok: true,
    facts,
    summary: expect.stringContaining(`The one from ${first.from} to ${first.to} was given up for it`),
  });
  expect((await publisher.sourceOffset()).backfill).toBeNull();
});

describe('a backfill whose answers say that rows are missing', () => {
  type Answer = (page: SourcePage, asked: PageRequest, api: Simulator) => Partial<SourcePage>;
  const hidden = 20;
  /** So many rows the request has, as the API counts them. */
  const counted: Answer = (_, { dates, updatedSince }, api) => ({
    total:
      hidden +
      (dates
        ? shownBetween(api, 'insights', 'date', dates.from, dates.to).length
        : shownBetween(api, 'ipos', 'updated', updatedSince, Number.POSITIVE_INFINITY).length),
  });
  const answers: [string, Answer, string][] = [
    [
      'say that they are partial',
      () => ({ partialBy: 'partial' }),
      'the API says by "partial" that an answer',
    ],
    ['count more', counted, 'the API counts '],
    ['say that more follow', ({ rows }) => (rows.length > 0 ? {} : { isLast: false }), 'more rows follow'],
  ];

  /** A feed that begins at the present, whose answers become such once it has begun. */
  async function backfilled(name: 'insights' | 'ipos', answer: Answer) {
    const begun = testFeed(name, { pageSize: 10, snapshotMode: 'never', pollIntervalMs: 60_000 });
    let isLacking = false;
    const made = await world({
      feed: begun,
      vendor: { records: { insights: 120, analysts: 5, ipos: 120 }, spreadDays: 50, newestSecondsAgo: 4_000 },
      between: (client, api) => ({
        async fetchPage(of, request, signal) {
          const page = await client.fetchPage(of, request, signal);
          return isLacking ? { ...page, ...answer(page, request, api) } : page;
        },
      }),
    });
    ({ publisher } = made);
    await publisher.poll();
    isLacking = true;
    const { outcome } = await carriedOut(backfill(40, 0), {}, undefined, begun);
    return { outcome, published: await publisher.topic(name) };
  }

  describe.each(['insights', 'ipos'] as const)('(%s)', (name) => {
    it.each(answers)('because they %s, is not done, and says why and what to do', async (_, answer, why) => {
      const { outcome, published } = await backfilled(name, answer);
      expect(outcome).toMatchObject({
        ok: false,
        error: {
          code: 'POLL_NOT_COUNTED',
          message: expect.stringContaining(why),
          now: expect.stringContaining('published'),
          remedy: expect.stringContaining(`highwater backfill ${name}`),
        },
      });
      expect(published.length).toBeGreaterThan(20);
      expect((await publisher.sourceOffset()).backfill).toBeNull();
      expect(publisher.logger.warnings).toEqual([expect.stringContaining(why)]);
    });
  });

  it('is done if the total counts the whole feed, whatever the dates', async () => {
    const { outcome } = await backfilled('insights', () => ({ total: 500 }));
    expect(outcome).toMatchObject({ ok: true, facts: { settled: true } });
    expect(publisher.logger.warnings).toStrictEqual([]);
  });
});
