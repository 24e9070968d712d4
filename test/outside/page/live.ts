import type { Browser, Locator } from 'playwright-core';
import { writeAgain } from '../../support/records';
import { until } from '../../support/until';
import { axeFindings } from './axe';
import { type OpenPage, openPage, overflow } from './browser';
import type { Look } from './look';
import { startPublisher } from './publisher';

const EVERYTHING_MS = 20_000;
const widths = [320, 360, 414, 768, 1080, 1440, 1920];

/** The page of a publisher at work over the simulated API. */
export async function lookAtLivePage(
  browser: Browser,
  folder: string,
  look: Look,
  picture: (open: OpenPage, name: string) => Promise<void>,
): Promise<void> {
  const publisher = await startPublisher(`${folder}/publisher`);
  const { api, url } = publisher;
  const open = await openPage(browser, url);
  const { page, says, faults } = open;
  const rows = page.locator('.row');
  const search = page.getByRole('searchbox');
  const withdraw = (ticker: string) => {
    const key = api.stores.ipos.keys().find((one) => api.stores.ipos.get(one)?.ticker === ticker)!;
    writeAgain(api.stores.ipos, key, { deal_status: 'Withdrawn', notes: `<b>${ticker}</b> is off.` });
  };
  const tickers = [...api.truth('ipos').values()]
    .filter(
      ({ deal_status, ticker }) => deal_status !== 'Withdrawn' && typeof ticker === 'string' && ticker !== '',
    )
    .map(({ ticker }) => ticker as string);

  try {
    await look('it says in words, in its title and by a shape that all feeds are up to date', async () => {
      await says(/^All 3 feeds are up to date$/);
      await until(async () => (await page.title()) === 'All 3 feeds are up to date · highwater');
      const icon = (await page.locator('#icon').getAttribute('href')) ?? '';
      if (!icon.startsWith('data:image/svg+xml,')) throw new Error(`the icon is ${icon}`);
      await page.locator('.headline .icon.good').waitFor();
    });

    await look('a change at the API appears, with before and after as the log has them', async () => {
      const [ticker] = tickers as [string];
      withdraw(ticker);
      const row = rows.filter({ hasText: ticker }).filter({ hasText: 'Withdrawn' }).first();
      await row.locator('.badge.alarm').waitFor({ timeout: EVERYTHING_MS });
      await row.getByRole('button').first().click();
      const event = (await publisher.log('ipos')).findLast(({ headers }) => headers.symbol === ticker)!;
      hold(event.value.op, 'u', 'op');
      const shown = await fieldsOf(row);
      hold(
        shown.map(([field]) => field).sort(),
        [...event.value.changed_fields].sort(),
        'the fields that are shown',
      );
      for (const [field, before, after] of shown) {
        hold(before, event.value.before[field!] ?? 'none', `${field} before`);
        hold(after, event.value.after[field!] ?? 'none', `${field} after`);
      }
      await picture(open, 'row-open');
      await row.getByRole('button').first().click();
    });

    await look('filters find it', async () => {
      const [ticker] = tickers as [string];
      const plain = rows.filter({ hasNot: page.locator('.badge') });
      await plain.first().waitFor();
      await page.getByLabel('Type', { exact: true }).selectOption('DealStatusChanged');
      await until(async () => (await plain.count()) === 0 && (await rows.count()) > 0);
      await search.fill(ticker.toLowerCase());
      await page.getByRole('button', { name: 'read', exact: true }).click();
      await until(async () => (await rows.count()) === 1);
      await search.fill('nothing is called so');
      await page.getByText('No change fits the filter.').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await until(async () => (await rows.count()) > 1);
    });

    await look('paused, the list stands still and counts what comes', async () => {
      await page.reload();
      await rows.first().waitFor();
      const before = await rows.first().textContent();
      await page.getByRole('button', { name: 'Pause' }).click();
      withdraw(tickers[1]!);
      const waiting = page.getByRole('button', { name: /^Resume \([1-9]\d* new changes?\)$/ });
      await waiting.waitFor({ timeout: EVERYTHING_MS });
      hold(await rows.first().textContent(), before, 'the first row');
      await waiting.click();
      await rows.filter({ hasText: tickers[1]! }).first().waitFor();
      await page.getByRole('button', { name: 'Pause' }).waitFor();
    });

    await look('it is worked by keys alone, and shows where one is', () => walk(open, rows));

    await look('nothing lies beyond its right edge, however wide it is', async () => {
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        await page.locator('.card').first().waitFor();
        hold(await overflow(page), 0, `pixels beyond ${width}`);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
    });

    await look('axe finds nothing, in light and dark, wide and narrow', async () => {
      await rows.first().getByRole('button').first().click();
      await axeInAllModes(open);
      await rows.first().getByRole('button').first().click();
    });
    await look('at a busy market, it was taken pictures of', async () => {
      await page.reload();
      api.marketDay.start(150);
      const news = rows.filter({ has: page.locator('.op:is(.c, .u)') });
      await until(async () => (await news.count()) > 25, EVERYTHING_MS);
      await pictures(open, picture, 'at-work');
      api.marketDay.stop();
    });

    await look('a token that the API refuses is named, with what to do', async () => {
      api.fault({ feed: 'insights', fault: { kind: 'status', status: 401 }, times: 1_000 });
      await says(/^insights is parked: the API refused the token$/);
      const problem = page.locator('.problems li');
      await problem.getByText('highwater explain SOURCE_UNAUTHORIZED').waitFor();
      await page.locator('.card.bad', { hasText: 'parked' }).waitFor();
      await axeInAllModes(open);
      await pictures(open, picture, 'problem');
    });

    await look('killed, the publisher is said to be away, and no figure looks fresh', async () => {
      await publisher.kill();
      await says(/^No connection to the publisher since \d\d:\d\d:\d\d, trying again…$/);
      await until(async () => (await page.title()).startsWith('No connection'));
      const told = (await page.locator('.feeds').textContent()) ?? '';
      if (/\b(ago|now)\b/.test(told)) throw new Error(`told as if it were fresh: ${told}`);
      hold(await page.locator('.problems').count(), 0, 'problems that nobody knows of');
      for (const condition of await page.locator('.condition').allTextContents())
        if (!/^as of \d\d:\d\d:\d\d$/.test(condition)) throw new Error(`a feed is said to be "${condition}"`);
      await axeInAllModes(open);
      await pictures(open, picture, 'lost');
    });

    await look('started again on the same port, it is back by itself, and so are new changes', async () => {
      api.clearFaults();
      await publisher.start();
      await says(/^All 3 feeds are up to date$/, 40_000);
      withdraw(tickers[2]!);
      await rows.filter({ hasText: tickers[2]! }).filter({ hasText: 'Withdrawn' }).first().waitFor();
      hold(await doubled(rows), [], 'changes that are shown twice');
    });

    await look('the browser had nothing to complain of, and asked nobody else', async () => {
      hold(faults, [], 'complaints');
    });
  } finally {
    await open.close();
    await publisher.stop();
  }
}

/** The fields of an open row. */
async function fieldsOf(row: Locator): Promise<string[][]> {
  await row.locator('table').waitFor();
  const lines = await row.locator('tbody tr').all();
  return Promise.all(lines.map((line) => line.locator('th, td').allTextContents()));
}

async function walk({ page }: OpenPage, rows: Locator): Promise<void> {
  const at = page.locator(':focus');
  await page.reload();
  await rows.nth(1).waitFor();
  await page.keyboard.press('Tab');
  hold(await at.textContent(), 'Skip to what just changed', 'the first stop');
  await page.keyboard.press('Enter');
  hold(await at.getAttribute('id'), 'changes', 'where it leads');
  const stops: string[] = [];
  while ((await at.getAttribute('data-change')) === null) {
    await page.keyboard.press('Tab');
    stops.push((await at.textContent()) ?? '');
    if ((await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')) === 'none')
      throw new Error(`nothing shows that ${stops.at(-1)} has the focus`);
    if (stops.length > 20) throw new Error(`no row is among ${stops.join(', ')}`);
  }
  await page.keyboard.press('Enter');
  await rows.first().locator('.detail').waitFor();
  await page.keyboard.press('Enter');
  await until(async () => (await page.locator('.detail').count()) === 0);
}

export async function axeInAllModes({ page }: OpenPage): Promise<void> {
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      hold(await axeFindings(page), [], `${colorScheme}, ${width} px`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function pictures(
  open: OpenPage,
  picture: (open: OpenPage, name: string) => Promise<void>,
  name: string,
): Promise<void> {
  const { page } = open;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(open, `${name}-1440-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 780 });
  await picture(open, `${name}-360-light`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** Feed and number of changes that are in the list more than once. */
async function doubled(rows: Locator): Promise<string[]> {
  const lines = await rows.locator('[data-change]').all();
  const changes = await Promise.all(lines.map((line) => line.getAttribute('data-change')));
  return changes.map(String).filter((change, at, all) => all.indexOf(change) !== at);
}

export function hold(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [actual, expected].map((value) => JSON.stringify(value, null, 1));
  if (found !== wanted)
    throw new Error(`${what}: ${found?.slice(0, 2_000)} instead of ${wanted?.slice(0, 2_000)}`);
}
