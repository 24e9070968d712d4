const WIDTH = 120;

/** Folds long paragraphs and list items of a generated page between words and code spans, but not tables or code. */
export function wrappedMarkdown(page: string): string {
  let isCode = false;
  return page
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isCode = !isCode;
      return isCode || /^[|#<]/.test(line) ? line : wrapped(line);
    })
    .join('\n');
}

function wrapped(line: string): string {
  const indent = line.startsWith('- ') ? '  ' : '';
  const lines: string[] = [];
  let current = '';
  for (const [word] of line.matchAll(/(?:`[^`]*`|\S)+/g)) {
    if (current !== '' && `${current} ${word}`.length > WIDTH) {
      lines.push(current);
      current = indent + word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current].join('\n');
}
