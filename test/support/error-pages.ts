import { firstSentence } from '../../src/cli/format/plain-page';
import { type ErrorCode, type ErrorKind, errorKinds } from '../../src/errors';

export const undescribed = 'Not described yet.';

/** What people wrote on a page of `docs/errors`; the frame between is made from the table of errors. */
export interface WrittenError {
  /** What happened, and why it comes. */
  readonly meaning: string;
  /** What helps to do it: commands, what else to read. May be empty. */
  readonly more: string;
}

const codes = Object.keys(errorKinds) as ErrorCode[];
const lastOfFrame = /^- \*\*Exit code\*\*.*$/m;

export function writtenOf(page: string): WrittenError {
  const [, body = ''] = page.split(/^# .*\n/);
  const [meaning = ''] = body.split(/^- \*\*/m);
  const [, more = ''] = body.split(lastOfFrame);
  return { meaning: meaning.trim() || undescribed, more: more.trim() };
}

/** `docs/errors/<code>.md` as the table of errors wants it. */
export function errorPage(code: ErrorCode, { meaning, more }: WrittenError): string {
  const kind = errorKinds[code];
  return `# \`${code}\`

${meaning}

- **What the program does:** ${kind.now}
- **What to do:** ${kind.remedy}
- **Tried again by itself:** ${again(kind)}.
- **Exit code** of a command that ends by it: ${kind.exit}.
${more === '' ? '' : `\n${more}\n`}`;
}

/** `docs/errors/README.md`: every code with the first sentence of its page. */
export function errorIndex(pages: ReadonlyMap<string, WrittenError>): string {
  const rows = codes.map((code) => {
    const { meaning = '' } = pages.get(code) ?? {};
    const short = errorKinds[code].parks ? 'slowly' : errorKinds[code].retriable ? 'yes' : 'no';
    return `| [\`${code}\`](${code}.md) | ${firstSentence(meaning)} | ${short} | ${errorKinds[code].exit} |`;
  });
  return `# Errors

Every error says what happened, what the program does now, and what to do; its code has a page here, which \`highwater explain CODE\` shows in the terminal.
By situation, with what is seen of each: the [runbook](../runbook/README.md).

**Again**: whether it is tried again by itself. *Slowly*: the feed is parked, since only a person can mend it; it is tried every five minutes or five
intervals, whichever is longer, and at once [when told to](../runbook/feed-parked.md). **Exit**: code of a command that ends by it.

| code | what happened | again | exit |
|---|---|---|---|
${rows.join('\n')}
`;
}

function again({ parks, retriable }: ErrorKind): string {
  if (parks)
    return 'slowly, for the feed is parked; at once by a restart, and by `highwater resume FEED` where the publisher has the feed';
  return retriable ? 'yes' : 'no';
}
