import { type StyledPublisher, styledPublisher } from '../../support/styled-publisher';

/** An API that leaves out the rows of its last minute: a record that is written is on no page for so long. */
let publisher: StyledPublisher;
let seconds = 0;
/** These are written every 15 s, so long. */
let busy: readonly string[] = [];
let busySeconds = 0;
/** Nothing else is written any more. */
let isQuiet = false;

const now = () => Math.floor(publisher.clock.ms / 1000);
const deleted = async () =>
  (await publisher.topic('ipos')).filter(({ decoded }) => decoded!.op === 'd').length;

async function start(late: number, pollIntervalMs: number): Promise<void> {
  busy = [];
  isQuiet = false;
  seconds = 0;
  publisher = await styledPublisher({ style: 'cursor', late, hidesWrites: true }, { pollIntervalMs });
  for (let i = 0; i < 100; i++) publisher.vendor.write(`r${i}`, now() - 9_000 + i);
  await publisher.poll();
}

/** Some records are written meanwhile, and polls go on. */
async function pass(ms: number): Promise<void> {
  for (let left = Math.ceil(ms / 1000); left > 0; left--) {
    publisher.clock.ms += 1_000;
    seconds++;
    if (--busySeconds > 0 && seconds % 15 === 0) for (const id of busy) publisher.vendor.write(id, now());
    if (seconds % 4 === 0 && !isQuiet) publisher.vendor.write(`r${20 + ((seconds * 7) % 80)}`, now());
    if ((seconds * 1_000) % publisher.feed.pollIntervalMs === 0) await publisher.poll();
  }
}

it.each([
  ['10 s', 10_000, 60, 150, false],
  ['60 s', 60_000, 60, 600, false],
  ['10 s, also after a restart', 10_000, 60, 30, true],
])(
  'no record is deleted that an API hides as long as it is written, polled every %s',
  async (_, pollMs, late, s, restarts) => {
    await start(late, pollMs);
    await pass(s * 1_000);
    busy = ['r1', 'r2', 'r3'];
    busySeconds = 400;
    await pass(90_000);
    publisher.vendor.rows.delete('r19');
    if (restarts) await publisher.restart();
    expect(await publisher.reconcile(pass)).toMatchObject({ deleted: 1, missing: 0, why: null });
    expect(await deleted()).toBe(1);
  },
);

it.each([
  ['10 s', 10_000, 200],
  ['60 s', 60_000, 900],
])(
  'what polls every %s have told is known after a restart, though nothing else is written',
  async (_, pollMs, s) => {
    await start(60, pollMs);
    await pass(s * 1_000);
    isQuiet = true;
    await pass(120_000);
    busy = ['r1', 'r2', 'r3'];
    busySeconds = 400;
    await pass(15_000);
    publisher.vendor.rows.delete('r19');
    await publisher.restart();
    expect(await publisher.reconcile(pass)).toMatchObject({ deleted: 1, missing: 0, why: null });
    expect(await deleted()).toBe(1);
  },
);

it.each([3, 100])(
  'an API that hides nothing is looked at again after a poll interval, after %i polls',
  async (polls) => {
    await start(0, 10_000);
    await pass(polls * 10_000);
    publisher.vendor.rows.delete('r19');
    const pauses: number[] = [];
    await publisher.reconcile(async (ms) => void pauses.push(ms));
    expect(pauses).toEqual([10_000]);
    expect(await deleted()).toBe(1);
  },
);

it('an API that is known to hide nothing is looked at again after a poll interval, also after a restart', async () => {
  await start(0, 10_000);
  await pass(200_000);
  await publisher.restart();
  await publisher.poll();
  publisher.vendor.rows.delete('r19');
  const pauses: number[] = [];
  await publisher.reconcile(async (ms) => void pauses.push(ms));
  expect(pauses).toEqual([10_000]);
});

it('what was told is stored with what polls commit anyway, and forgotten when pages are asked for otherwise', async () => {
  await start(60, 10_000);
  await pass(200_000);
  const told = publisher.offset().least_change_age_ms;
  expect(told).toBeGreaterThanOrEqual(60_000);
  isQuiet = true;
  await pass(80_000);
  const { commit } = publisher.offset();
  await pass(600_000);
  expect(publisher.offset().commit - commit).toBeLessThanOrEqual(60);
  expect(await publisher.sourceOffset()).toMatchObject({ least_change_age_ms: told });
  const { feed } = publisher;
  await publisher.restart({ feed: { ...feed, updatedFormat: 'iso8601' } });
  expect(publisher.offset().least_change_age_ms).toBe(0);
});

it('an API that tells times by the hour is looked at again after a poll interval', async () => {
  await start(0, 10_000);
  publisher.shape.rounds = 3_600;
  publisher.clock.ms += 1_800_000;
  await pass(200_000);
  publisher.vendor.rows.delete('r19');
  const pauses: number[] = [];
  await publisher.reconcile(async (ms) => void pauses.push(ms));
  expect(pauses).toEqual([10_000]);
  expect(await deleted()).toBe(1);
});

it.each([
  ['every 10 minutes', 600_000, 900_000],
  ['once a day', 86_400_000, 86_400_000],
])('a feed that is polled %s is not waited for longer after a start', async (_, pollMs, expected) => {
  await start(0, pollMs);
  publisher.vendor.rows.delete('r19');
  const pauses: number[] = [];
  await publisher.reconcile(async (ms) => void pauses.push(ms));
  expect(pauses).toEqual([expected]);
});
