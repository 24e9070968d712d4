import { HighwaterError } from '../../src/errors';

/** The mistakes that settings have, each as its line of the error says it; none if they load. */
export function configMistakes(load: () => unknown): string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (!(error instanceof HighwaterError) || error.code !== 'CONFIG_INVALID') throw error;
    const [first = '', ...lines] = error.message.split('\n');
    expect(first).toBe(lines.length === 1 ? 'One setting is wrong:' : `${lines.length} settings are wrong:`);
    return lines.map((line) => line.trim());
  }
}
