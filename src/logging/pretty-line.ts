import pc from 'picocolors';

export interface PrettyLine {
  /** ISO 8601. */
  readonly time: string;
  readonly level: string;
  readonly message: string;
  readonly facts: readonly (readonly [string, unknown])[];
  readonly color: boolean;
}

/** The second and third part of an error, which have lines of their own. */
const advice = { now: 'now:', remedy: 'do: ' } as const;

/** One log line for people: `12:30:05 WARN  ipos: asking again  attempt=2`. A stack follows on lines of its own. */
export function prettyLine({ time, level, message, facts, color }: PrettyLine): string {
  const paint = pc.createColors(color);
  const byLevel = { error: paint.red, warn: paint.yellow, info: paint.cyan, debug: paint.dim };
  const mark = (byLevel[level as keyof typeof byLevel] ?? paint.cyan)(level.toUpperCase().padEnd(5));
  const feed = facts.find(([key]) => key === 'feed')?.[1];
  // Most errors name their feed themselves.
  const named =
    typeof feed === 'string' && (message.startsWith(`${feed}: `) || message.startsWith(`Feed ${feed}`));
  const subject = typeof feed === 'string' && !named ? `${oneLine(feed)}: ` : '';
  const stacks: string[] = [];
  const rest = facts
    .filter(
      ([key, value]) =>
        value !== undefined && !(key === 'feed' && typeof feed === 'string') && !(key in advice),
    )
    .map(([key, value]) => `${paint.dim(`${oneLine(key)}=`)}${printed(value, stacks)}`);
  const first = `${paint.dim(time.slice(11, 19))} ${mark} ${subject}${oneLine(message)}`;
  const head = rest.length === 0 ? first : `${first}  ${rest.join(' ')}`;
  return [
    head,
    ...facts.flatMap(([key, value]) =>
      key in advice ? [`    ${paint.dim(advice[key as keyof typeof advice])} ${oneLine(String(value))}`] : [],
    ),
    ...stacks.flatMap((stack) => stack.split('\n').map((at) => paint.dim(`    ${oneLine(at)}`))),
  ].join('\n');
}

function printed(value: unknown, stacks: string[]): string {
  if (typeof value === 'string')
    return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : oneLine(JSON.stringify(value));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return oneLine(JSON.stringify(value));
  const { code, message, stack } = value as Readonly<Record<string, unknown>>;
  if (typeof message !== 'string') return oneLine(JSON.stringify(value));
  if (typeof stack === 'string') stacks.push(stack);
  return printed(typeof code === 'string' ? `${code}: ${message}` : message, stacks);
}

/** Nothing that a server sent may begin a line of its own, or steer the terminal. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');
}
