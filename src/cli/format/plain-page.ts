/**
 * A page of the documentation for a terminal: paragraphs and lists without their marks, links as text, code as it stands.
 * @param width columns to fold at; null: as the page has its lines
 */
export function plainPage(markdown: string, width: number | null): string {
  const blocks = markdown.trim().split(/^(```[\s\S]*?^```)$/m);
  return `${blocks
    .map((block) => (block.startsWith('```') ? codeBlock(block) : prose(block, width)))
    .filter((block) => block !== '')
    .join('\n\n')}\n`;
}

function codeBlock(block: string): string {
  return block
    .split('\n')
    .slice(1, -1)
    .map((line) => `    ${line}`)
    .join('\n');
}

function prose(block: string, width: number | null): string {
  const text = block
    .trim()
    .replace(/^#+ `?(.*?)`?$/gm, '$1')
    .replaceAll('**', '')
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, words: string) => words.replaceAll('`', ''));
  if (width === null) return text;
  return text
    .split('\n\n')
    .map((paragraph) =>
      paragraph
        .split(/\n(?=- )/)
        .map((item) => folded(item, width))
        .join('\n'),
    )
    .join('\n\n');
}

function folded(item: string, width: number): string {
  const indent = item.startsWith('- ') ? '  ' : '';
  const lines: string[] = [];
  let line = '';
  for (const word of item.split(/\s+/)) {
    if (line === '') line = word;
    else if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].join('\n');
}

/** The first sentence of a page below its title, up to a colon at most. */
export function firstSentence(markdown: string): string {
  const [paragraph = ''] = markdown.replace(/^# .*\n+/, '').split('\n\n');
  const text = paragraph.replaceAll('\n', ' ');
  return /^.*?[.:;](?=\s|$)/.exec(text)?.[0].replace(/[:;]$/, '.') ?? text;
}
