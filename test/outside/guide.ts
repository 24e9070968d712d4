import { readFileSync } from 'node:fs';
import path from 'node:path';

const folder = path.join(__dirname, '..', '..', 'docs', 'guides');

/** The code blocks of one language in a guide, in order. The test runs exactly what a reader copies. */
export function codeBlocks(guide: string, language: string): string[] {
  const text = readFileSync(path.join(folder, guide), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , block]) => block!);
}

export type Settings = Readonly<Record<string, string>>;

/**
 * Java properties of a guide, each block a file.
 * @returns settings by the name in the block's first line, a comment
 */
export function propertyFiles(guide: string): Map<string, Settings> {
  return new Map(
    codeBlocks(guide, 'properties').map((block) => {
      const [title = '', ...lines] = block.trimEnd().split('\n');
      const entries = lines.map((line) => {
        const at = line.indexOf('=');
        return [line.slice(0, at), line.slice(at + 1)] as const;
      });
      return [title.replace(/^# /, ''), Object.fromEntries(entries)];
    }),
  );
}

/**
 * Replaces values of the guide by the values of this machine.
 * @throws Error if the guide does not have a value
 */
export function instead(text: string, replacements: Settings): string {
  return Object.entries(replacements).reduce((result, [said, here]) => {
    if (!result.includes(said)) throw new Error(`the guide does not say ${said}`);
    return result.replaceAll(said, here);
  }, text);
}

/** As `instead`, for properties: values by key. */
export function withValues(settings: Settings, values: Settings): Settings {
  for (const key of Object.keys(values))
    if (!(key in settings)) throw new Error(`the guide does not set ${key}`);
  return { ...settings, ...values };
}
