const WIDTH = 110;

/** TSDoc of a text, in as many lines as it takes. */
export function comment(text: string, indent = ''): string {
  const safe = text.replaceAll('*/', '*\\/');
  const oneLine = `${indent}/** ${safe} */`;
  if (oneLine.length <= WIDTH) return `${oneLine}\n`;
  const lines = wrap(safe, WIDTH - indent.length - 3);
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line += line === '' ? word : ` ${word}`;
    }
  }
  return [...lines, line];
}
