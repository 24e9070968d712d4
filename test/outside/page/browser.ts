import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { run } from '../command';
import { MissingToolError } from '../missing-tool';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const INSTALL_MS = 5 * 60_000;

/** @throws MissingToolError if there is no Chromium and none can be installed */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: installed() ?? (await install()), args });
}

function installed(): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(existsSync);
}

async function install(): Promise<string> {
  const isRoot = process.getuid?.() === 0;
  let said = '';
  if (isRoot && existsSync('/usr/bin/apt-get')) {
    for (const words of [
      ['update', '--quiet'],
      ['install', '--quiet', '--yes', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
    ]) {
      const { stdout, stderr } = await run('apt-get', words, { env: process.env, withinMs: INSTALL_MS });
      said = `\n${stdout}${stderr}`;
    }
  }
  const found = installed();
  if (found !== undefined) return found;
  throw new MissingToolError(`Chromium was not found${said}`, 'Install it (on Debian: chromium)', undefined);
}

/** The page as somebody has it open. */
export interface OpenPage {
  readonly page: Page;
  /** Forbidden events: errors, alert boxes, and requests that the policy refused. */
  readonly faults: readonly string[];
  /** The headline's words. */
  headline(): Promise<string>;
  /** Resolves when the headline matches. @throws with the headline, at the deadline */
  says(pattern: RegExp, withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** The browser's messages about answers that do not come, or are 401 on purpose. */
const expected = /^Failed to load resource: /;

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    const isBad = message.type() === 'error' || message.type() === 'warning';
    if (isBad && !expected.test(message.text())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message));
  page.on('dialog', (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', () => faults.push('a window was opened'));
  page.on('request', (request) => {
    if (new URL(request.url()).protocol !== 'data:' && new URL(request.url()).host !== new URL(url).host)
      faults.push(`asked elsewhere: ${request.url()}`);
  });
  await page.goto(url);
  const headline = async () => (await page.locator('h1').textContent()) ?? '';
  return {
    page,
    faults,
    headline,
    async says(pattern, withinMs = 20_000) {
      await page
        .locator('h1', { hasText: pattern })
        .waitFor({ timeout: withinMs })
        .catch(async () => {
          throw new Error(`the page says "${await headline()}" instead of ${pattern}`);
        });
    },
    close: () => context.close(),
  };
}

/** How many pixels of the page lie beyond its right edge. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}
