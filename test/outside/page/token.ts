import type { Browser } from 'playwright-core';
import type { OpenPage } from './browser';
import { openPage } from './browser';
import { axeInAllModes, hold } from './live';
import type { Look } from './look';
import { startPublisher } from './publisher';

const token = 'a-token-of-a-test';

/** The page of a publisher that wants a token. */
export async function lookAtTokenForm(
  browser: Browser,
  folder: string,
  look: Look,
  picture: (open: OpenPage, name: string) => Promise<void>,
): Promise<void> {
  const publisher = await startPublisher(`${folder}/with-token`, token);
  const open = await openPage(browser, publisher.url);
  const { page, says, faults } = open;
  const field = page.getByLabel('Token of this publisher');
  try {
    await look('a publisher with a token is asked for nothing before it is given', async () => {
      await says(/^The publisher asks for its token$/);
      hold(await page.locator('.card, .row').count(), 0, 'what is shown without it');
      await page.locator('#token:focus').waitFor();
      await axeInAllModes(open);
      await picture(open, 'token');
    });
    await look('a wrong token is said to be wrong, and a right one opens the page', async () => {
      for (const wrong of ['wrong', 'ä wrong one', '<img src=x>']) {
        await field.fill(wrong);
        await page.keyboard.press('Enter');
        await page.getByRole('alert').filter({ hasText: 'does not accept this token' }).waitFor();
      }
      await field.fill(token);
      await page.getByRole('button', { name: 'Connect' }).click();
      await says(/^All 3 feeds are up to date$/);
    });
    await look(
      'the tab keeps the token through a reload, no other page has it, and it can be forgotten',
      async () => {
        await page.reload();
        await says(/^All 3 feeds are up to date$/);
        if (page.url().includes(token)) throw new Error('the token is in the address');
        hold(await page.context().cookies(), [], 'cookies');
        hold(await page.evaluate('localStorage.length'), 0, 'what the browser keeps beyond the tab');
        await page.getByRole('button', { name: 'Forget the token' }).click();
        await says(/^The publisher asks for its token$/);
        hold(await page.evaluate('sessionStorage.length'), 0, 'what the tab keeps');
        hold(faults, [], 'complaints of the browser');
      },
    );
  } finally {
    await open.close();
    await publisher.stop();
  }
}
