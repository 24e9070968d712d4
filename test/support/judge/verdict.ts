/** Kind of a violation. The soak run counts each kind. */
export type Harm = 'lost' | 'twice' | 'order' | 'torn' | 'wrong';

/** One thing in the log that must not be. */
export interface Violation {
  /** The invariant of the design that it breaks: `I1` to `I8`, or `transitions`. */
  readonly rule: 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'transitions';
  readonly harm: Harm;
  readonly feed: string;
  /** With the values that tell it. */
  readonly what: string;
}

export interface FeedCounts {
  readonly events: number;
  readonly byOp: Readonly<Record<string, number>>;
  readonly live: number;
  readonly transitions: number;
  readonly deadLetters: number;
  /** Number in the last incarnation. */
  readonly commits: number;
  /** Number of incarnations with events. */
  readonly incarnations: number;
}

/** Without violations, the log is exactly what the API's rows require. */
export interface Verdict {
  readonly violations: readonly Violation[];
  readonly feeds: Readonly<Record<string, FeedCounts>>;
}

export interface Findings {
  readonly violations: readonly Violation[];
  add(rule: Violation['rule'], harm: Harm, what: string): void;
}

export function findings(feed: string): Findings {
  const violations: Violation[] = [];
  return {
    violations,
    add: (rule, harm, what) => violations.push({ rule, harm, feed, what }),
  };
}

/** For a failed test: how many of each, and the first of each kind in full. */
export function describeVerdict({ violations }: Pick<Verdict, 'violations'>): string {
  if (violations.length === 0) return 'nothing to object to';
  const groups = new Map<string, Violation[]>();
  for (const violation of violations) {
    const name = `${violation.rule} ${violation.harm}, ${violation.feed}`;
    groups.set(name, [...(groups.get(name) ?? []), violation]);
  }
  return [...groups]
    .map(
      ([name, of]) =>
        `${of.length} × ${name}: ${of
          .slice(0, 3)
          .map(({ what }) => what.slice(0, 500))
          .join(' | ')}`,
    )
    .join('\n');
}
