import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type ErrorKind, errorGroups } from '../../src/errors/table';
import { configReference } from './config-reference';
import { wrappedMarkdown } from './wrapped-markdown';

/** `docs/errors.md`. */
export function errorsPage(): string {
  const groups = Object.entries(errorGroups).map(([title, kinds]) =>
    [`## ${title}`, ...Object.entries<ErrorKind>(kinds).map(([code, kind]) => entry(code, kind))].join(
      '\n\n',
    ),
  );
  return wrappedMarkdown(`# Errors

Every error says what happened, what the program does now, and what to do. \`highwater explain CODE\` shows an entry
of this page in the terminal. The [runbook](runbook/README.md) is ordered by what you see.

**Again**: whether the program tries again by itself. *Slowly*: the feed is parked, because only a person can fix it.
It is tried every five minutes or every five intervals, whichever is longer, and at once
[when told to](runbook/feed-parked.md). A feed that is not parked is polled at its next interval in any case.
**Exit**: exit code of a command that the error ends.

\`npm run build\` makes this page from \`src/errors/table.ts\`.

${groups.join('\n\n')}
`);
}

function entry(code: string, { what, now, remedy, parks, retriable, exit, see }: ErrorKind): string {
  const again = parks ? 'slowly' : retriable ? 'yes' : 'no';
  const more = see === undefined ? '' : ` **More:** [${headingOf(see)}](${see}).`;
  return `### \`${code}\`

${what}
- **Now:** ${now}
- **Do:** ${remedy}
- **Again:** ${again}. **Exit:** ${exit}.${more}`;
}

/** The heading that a link to a page of `docs`, or to a part of one, leads to. */
function headingOf(link: string): string {
  const [page = '', anchor] = link.split('#');
  const headings = [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.find((one) => anchor === undefined || one.toLowerCase().replaceAll(' ', '-') === anchor)!;
}

function textOf(page: string): string {
  // It may not be written yet.
  if (page === 'configuration.md') return configReference();
  return readFileSync(path.join(__dirname, '..', '..', 'docs', page), 'utf8');
}
