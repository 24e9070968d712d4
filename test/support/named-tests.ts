import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');

/** What a page calls `file` › title and is not there: files, and titles of tests or groups of them. */
export function missingTests(text: string): string[] {
  return [...text.matchAll(/`(test\/[^`]+\.ts)`(?: › ([^;\n]+))?/g)].flatMap(([, file = '', title]) => {
    if (!existsSync(path.join(root, file))) return [file];
    const source = readFileSync(path.join(root, file), 'utf8');
    const titles = [...source.matchAll(/\b(?:it|describe)(?:\.each[\s\S]*?\)\s*)?\(\s*(['"`])([\s\S]*?)\1/g)];
    const isThere = title === undefined || titles.some(([, , found]) => found?.includes(title.trim()));
    return isThere ? [] : [`${file} › ${title}`];
  });
}
