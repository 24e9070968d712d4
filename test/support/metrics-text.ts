export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of one name in the text format of Prometheus. */
export function samplesOf(text: string, name: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, found, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (found !== name) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, text!]);
    return [{ labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
