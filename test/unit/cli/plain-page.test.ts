import { plainPage } from '../../../src/cli/format/plain-page';

const page = `# \`LOG_FULL\`

The disk has **no** room left, see [the
runbook](../runbook.md#the-disk-is-full).

- **What to do:** free space on the disk, or move it.
- **Exit code**: 1.

\`\`\`sh
df -h data   # what is left on the disk of the data folder
\`\`\`
`;

it('is without marks, and code stands as it is', () => {
  expect(plainPage(page, null)).toBe(`LOG_FULL

The disk has no room left, see the
runbook.

- What to do: free space on the disk, or move it.
- Exit code: 1.

    df -h data   # what is left on the disk of the data folder
`);
});

it('fits the terminal, code aside', () => {
  expect(plainPage(page, 30)).toBe(`LOG_FULL

The disk has no room left, see
the runbook.

- What to do: free space on
  the disk, or move it.
- Exit code: 1.

    df -h data   # what is left on the disk of the data folder
`);
});
