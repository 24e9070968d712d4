import { connect } from '../../src/consumer';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { commandLineHere, jsonLines, outcome } from '../support/cli';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import type { ConsumedLog } from './consumer';

/** `highwater groups` and programs of `highwater/consumer`, over either log. */
export function groupsCommandContract(
  name: string,
  open: () => Promise<ConsumedLog & { readonly env: Readonly<Record<string, string>> }>,
): void {
  describe(`the groups of ${name}`, () => {
    const cli = commandLineHere();
    let world: Awaited<ReturnType<typeof open>>;
    let writer: ChangeWriter;

    beforeEach(async () => {
      world = await open();
      writer = await changeWriter(world, world.topicPrefix);
    });
    afterEach(async () => {
      await writer.close();
      await world.close();
    });

    const groups = (...args: string[]) => outcome(cli(['groups', ...args], { env: world.env }));

    async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
      const { code, out, err } = await groups(...args, '--json');
      expect([code, err]).toEqual([0, expect.not.stringContaining('error')]);
      return jsonLines(out);
    }

    /** Statuses that a program of the group reads, up to a number. @param meanwhile done while it runs */
    async function consumed(wanted: number, meanwhile = async () => {}, group = 'desk'): Promise<string[]> {
      const log = connect({ ...world.connect, logger: quietLogger() });
      const seen: string[] = [];
      const topics = ['ipos', 'ipos.deal-status'] as const;
      const ended = log.consume({ group, topics, from: 'beginning' }, (event) => {
        if (event.type === 'marketdata.ipos.DealStatusChanged') seen.push(`${event.value.status}`);
      });
      ended.catch(() => undefined);
      await meanwhile();
      await until(() => seen.length >= wanted);
      await log.close();
      await ended;
      return seen;
    }

    const write = (status: string) => writer.write({ id: 'a', status });

    it('are shown with what each has not read yet, also as a table', async () => {
      expect(await groups()).toMatchObject({
        code: 0,
        out: expect.not.stringContaining('desk'),
        err: 'highwater: no group has a position in the log.\n',
      });
      await write('Filed');
      await consumed(1);
      await consumed(1, undefined, 'others');
      await write('Priced');
      const found = await rows('desk');
      expect(found.map(({ group, topic, partition }) => [group, topic, partition])).toEqual(
        ['ipos', 'ipos.deal-status'].flatMap((topic) =>
          [0, 1, 2].map((partition) => ['desk', `${world.topicPrefix}${topic}`, partition]),
        ),
      );
      for (const { members, position, end, lag } of found) {
        expect([0, null]).toContain(members);
        expect(lag).toBe(Number(end) - Number(position));
      }
      const behind = found.filter(({ topic, lag }) => `${topic}`.endsWith('status') && Number(lag) > 0);
      expect(behind).toHaveLength(1);
      const { out } = await groups();
      expect(out).toMatch(/^GROUP +MEMBERS +TOPIC +PARTITION +POSITION +END +LAG +WAITS FOR\n/);
      expect(out.match(/^desk /gm)).toHaveLength(6);
      expect(out.match(/^others /gm)).toHaveLength(6);
    });

    it('say why an event is not done yet, until it is', async () => {
      await write('Filed');
      const log = connect({ ...world.connect, logger: quietLogger() });
      let isDown = true;
      const ended = log.consume(
        { group: 'desk', topics: ['ipos.deal-status'], from: 'beginning', retry: { attempts: 1_000 } },
        async (_, { note }) => {
          if (!isDown) return;
          await note('the desk is closed');
          throw new Error('not now');
        },
      );
      const notes = async () => (await rows()).flatMap(({ note }) => note || []);
      await until(async () => (await notes()).length > 0);
      expect(await notes()).toEqual(['the desk is closed']);
      isDown = false;
      await until(async () => (await notes()).length === 0);
      await log.close();
      await ended;
    });

    it('read again from where they are moved', async () => {
      await write('Filed');
      await write('Priced');
      await consumed(2);
      const whole = await groups('reset', 'desk', '--to', 'beginning', '--yes');
      expect([whole.code, whole.err]).toEqual([0, '']);
      expect(await consumed(2)).toEqual(['Filed', 'Priced']);

      await write('Postponed');
      await rows('reset', 'desk', '--to', 'end', '--yes');
      expect(await consumed(1, () => write('Filed'))).toEqual(['Filed']);

      const since = Date.now() + 1;
      await until(() => Date.now() > since);
      await write('Withdrawn');
      const moved = await rows('reset', 'desk', '--to', new Date(since).toISOString(), '--yes');
      expect(moved.filter(({ topic, lag }) => `${topic}`.endsWith('status') && Number(lag) > 0)).toHaveLength(
        1,
      );
      expect(await consumed(1)).toEqual(['Withdrawn']);
    });

    it('are moved in one topic alone, if only that is named, also before a group has begun', async () => {
      await write('Filed');
      await consumed(1);
      const [changes, transitions] = ['ipos', 'ipos.deal-status'].map((one) => `${world.topicPrefix}${one}`);
      const before = (await rows('desk')).filter(({ topic }) => topic === changes);
      const after = await rows('reset', 'desk', '--topic', 'ipos.deal-status', '--to', 'beginning', '--yes');
      expect(after.filter(({ topic }) => topic === changes)).toEqual(before);
      expect(after.filter(({ topic }) => topic === transitions).map(({ position }) => position)).toEqual([
        0, 0, 0,
      ]);

      const args = ['--topic', 'ipos', '--topic', 'ipos.deal-status', '--to', 'end', '--yes'];
      expect(await rows('reset', 'fresh', ...args)).toHaveLength(6);
      expect(await consumed(1, () => write('Priced'), 'fresh')).toEqual(['Priced']);
    });

    it('are not moved while a member lives', async () => {
      await write('Filed');
      await consumed(1);
      const shown = await consumed(1, async () => {
        await write('Priced');
        await until(async () => {
          const { code, err } = await groups('reset', 'desk', '--to', 'beginning', '--yes');
          return code === 1 && err.includes('GROUP_IN_USE') && err.includes('Nothing was moved.');
        });
      });
      expect(shown.at(-1)).toBe('Priced');
    });

    it.each([
      [['nobody'], 'no group nobody has a position'],
      [['reset', 'nobody', '--to', 'end', '--yes'], 'no group nobody has a position'],
      [['reset', 'desk', '--to', 'end', '--topic', 'nothing', '--yes'], 'there is no topic'],
      [['reset', 'desk', '--to', 'yesterday', '--yes'], 'Expected beginning, end or a time such as'],
      [
        ['reset', 'desk', '--to', '2026-03-31T09:00:00', '--yes'],
        'Expected beginning, end or a time such as',
      ],
      [['reset', 'desk', '--yes'], '--to <place>'],
      [['reset', 'desk', '--to', 'end'], 'there is no terminal to confirm it'],
    ])('are named if they cannot be shown or moved: groups %j', async (args, what) => {
      await write('Filed');
      await consumed(1);
      const before = await rows('desk');
      const { code, err } = await groups(...args);
      expect([code, err]).toEqual([2, expect.stringContaining(what)]);
      expect(await rows('desk')).toEqual(before);
    });

    it('are not those of the publishers', async () => {
      const { code, err } = await groups(
        'reset',
        `highwater:${world.topicPrefix}owners`,
        '--to',
        'end',
        '--yes',
      );
      expect([code, err]).toEqual([2, expect.stringContaining('is the group of the publishers')]);
    });
  });
}
