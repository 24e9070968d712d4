import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type OpenPage, startBrowser } from './page/browser';
import { lookAtLivePage } from './page/live';
import { looks } from './page/look';
import { lookAtTokenForm } from './page/token';
import { lookAtWorstCases } from './page/worst-cases';
import type { Results } from './results';

/**
 * The dashboard's page in a real Chromium. `HIGHWATER_PICTURES` names a folder for pictures of it.
 * @param folder for the publishers' logs
 * @throws MissingToolError
 */
export async function checkPage(folder: string, results: Results): Promise<void> {
  process.stdout.write('The page\n');
  const pictures = process.env.HIGHWATER_PICTURES ?? path.join(folder, 'pictures');
  mkdirSync(pictures, { recursive: true });
  const picture = async ({ page }: OpenPage, name: string) => {
    await page.screenshot({ path: path.join(pictures, `${name}.png`) });
  };
  const look = looks(results);
  const browser = await startBrowser();
  try {
    await lookAtLivePage(browser, folder, look, picture);
    await lookAtWorstCases(browser, look, picture);
    await lookAtTokenForm(browser, folder, look, picture);
  } finally {
    await browser.close();
  }
}
