import type { Browser } from 'playwright-core';
import { until } from '../../support/until';
import { aChange, aFeed } from '../../support/views';
import { axeFindings } from './axe';
import { type OpenPage, openPage, overflow } from './browser';
import { hostileChanges, hostileTexts } from './hostile';
import { hold } from './live';
import type { Look } from './look';
import { startStandIn } from './stand-in';

const FLOOD_SECONDS = 5;
const FLOOD_PER_SECOND = 200;

/** The page in front of what no publisher says on purpose: data of enemies, floods, and silence. */
export async function lookAtWorstCases(
  browser: Browser,
  look: Look,
  picture: (open: OpenPage, name: string) => Promise<void>,
): Promise<void> {
  const standIn = await startStandIn();
  const problem = {
    ...({ code: 'SOURCE_WRONG_SHAPE', severity: 'warning' } as const),
    cause: hostileTexts[0]!,
    what: hostileTexts[0]!,
    remedy: hostileTexts[1]!,
    see: 'docs/errors.md',
    sinceMs: 0,
    retryAtMs: Number.MAX_SAFE_INTEGER,
  };
  standIn.feeds([
    aFeed('ipos', { condition: 'behind', problem, reason: hostileTexts[2]!, owner: hostileTexts[8]! }),
    aFeed('insights', {
      errors: hostileTexts.slice(0, 5).map((what, at) => ({
        code: hostileTexts[8]!,
        what,
        times: Number.MAX_SAFE_INTEGER,
        lastAtMs: at,
        lasts: at === 0,
      })),
      records: Number.MAX_SAFE_INTEGER,
      dead_letters: Number.MAX_SAFE_INTEGER,
      driftedPaths: 100,
      drift: 'a'.repeat(10_000),
      high_water_mark: -1,
      last_complete_scan_ms: 0,
      poll_interval_ms: 86_400_000,
      changesPerMinute: [],
      requests: { lastMinute: 1e15, allowedPerMinute: 1e15, retriesLastMinute: 1e15 },
    }),
    aFeed('a-feed-of-a-very-long-name-that-somebody-thought-of', {
      high_water_mark: null,
      last_complete_scan_ms: null,
      owner: null,
    }),
  ]);
  const open = await openPage(browser, standIn.url);
  const { page, faults, says } = open;
  const rows = page.locator('.row');
  try {
    await look('what an enemy puts into records is text, in the line and in the row', async () => {
      const changes = hostileChanges();
      standIn.changes({ changes });
      await until(async () => (await rows.count()) === changes.length);
      for (const row of await rows.all()) await row.getByRole('button').first().click();
      await until(async () => (await page.locator('.detail').count()) === changes.length);
      const titles = await page.locator('.line .title').allTextContents();
      hold(titles.sort(), changes.map(({ title }) => title).sort(), 'titles');
      const strange = page.locator('#page :is(img, script, iframe, object, a:not(.skip)), svg[onload]');
      hold(await strange.count(), 0, 'elements that the page does not make');
      for (const width of [360, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        hold(await overflow(page), 0, `pixels beyond ${width}`);
        await picture(open, `hostile-${width}`);
      }
      hold(await axeFindings(page), [], 'what axe finds');
      hold(faults, [], 'complaints of the browser');
    });

    await look(`${FLOOD_PER_SECOND} changes a second leave it quick, and at most 500 rows`, async () => {
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.evaluate(longestPause);
      for (let tenth = 0; tenth < FLOOD_SECONDS * 10; tenth++) {
        standIn.changes({ changes: Array.from({ length: FLOOD_PER_SECOND / 10 }, () => aChange()) });
        await page.waitForTimeout(100);
      }
      await until(async () => (await rows.count()) === 500);
      const pauseMs = await page.evaluate<number>('window.longestPauseMs');
      if (pauseMs > 500) throw new Error(`it stood still for ${pauseMs} ms`);
    });

    await look(
      'a publisher that says nothing more is said to be away, though its connection stands',
      async () => {
        standIn.fallSilent();
        await says(/^No connection to the publisher since /, 30_000);
      },
    );
  } finally {
    await open.close();
    await standIn.stop();
  }
}

/** Measures, from then on, the longest time between two looks at the clock. */
const longestPause = `
  window.longestPauseMs = 0;
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    window.longestPauseMs = Math.max(window.longestPauseMs, now - last);
    last = now;
  }, 10);`;
