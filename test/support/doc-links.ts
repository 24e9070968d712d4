import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Links of a page to files, or to headings in them, that are not there. */
export function brokenLinks(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^https?:/.test(link)) return [];
    const [name = '', anchor] = link.split('#');
    const target = name === '' ? file : path.join(path.dirname(file), name);
    if (!existsSync(target)) return [link];
    if (anchor === undefined || !target.endsWith('.md')) return [];
    return headings(readFileSync(target, 'utf8')).includes(anchor) ? [] : [link];
  });
}

/** As GitHub makes anchors of headings. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
