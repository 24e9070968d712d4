import { type ErrorCode, type ErrorKind, errorKinds } from '../../src/errors';

const heading = '## Error codes';
export const undescribed = 'Not described yet.';

/**
 * `docs/operations.md` as the table of errors wants it. What people wrote stays: all before the error codes, and in each
 * section the text before the list, which tells what the code means.
 */
export function operationsPage(written: string): string {
  const meanings = meaningsOf(written);
  const intro = written.split(heading)[0] ?? '';
  const codes = Object.keys(errorKinds) as ErrorCode[];
  const sections = codes.map((code) => section(code, errorKinds[code], meanings.get(code) ?? undescribed));
  return `${intro}${heading}\n\n${sections.join('\n')}`;
}

/** Code → what its section says it means. */
export function meaningsOf(written: string): Map<string, string> {
  const [, codes = ''] = written.split(heading);
  const parts = codes.split(/^### /m).slice(1);
  return new Map(
    parts.map((part) => {
      const [code = '', ...lines] = part.split('\n');
      const meaning = lines.join('\n').split(/^- \*\*/m)[0] ?? '';
      return [code.replaceAll('`', '').trim(), meaning.trim()];
    }),
  );
}

function section(code: string, kind: ErrorKind, meaning: string): string {
  const again = kind.parks ? 'slowly, for the feed is parked' : kind.retriable ? 'yes' : 'no';
  return `### \`${code}\`

${meaning}

- **What the program does:** ${kind.now}
- **What to do:** ${kind.remedy}
- **Tried again by itself:** ${again}. **Exit code** of a command that ends by it: ${kind.exit}.
`;
}
