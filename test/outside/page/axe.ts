import { source } from 'axe-core';
import type { Page } from 'playwright-core';

interface Found {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/**
 * Axe's findings about the present page, by WCAG 2.2 AA and its own best practices. It is evaluated from outside, so that the
 * page's policy stays as it is.
 */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const found = await page.evaluate<Found[]>(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations'],
  }).then(({ violations }) => violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(
    ({ target, failureSummary }) => ({ target, failureSummary })) })))`);
  return found.flatMap(({ id, help, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}\n${failureSummary}`),
  );
}
