import { isObject, type Members } from './dotted-path';

const words = (text: string) => new Set(text.split(' '));

/** In the names of members that differ from answer to answer: places of pages, counts, times and marks of the answer itself. */
const CHANGING = words(
  'total totals count size limit offset skip start page pages per current first last next prev previous after before from to self ' +
    'cursor token link links url href etag id uuid time timestamp date updated took elapsed duration',
);
/** The same for numbers. A list or a text by such a name may be the rows, or a report. */
const CHANGING_NUMBERS = words('number length index position elements records rows found returned remaining');
/** The same for flags. */
const CHANGING_FLAGS = words('more next previous first last done end final truncated');
/** In the names of members that report how the request went. */
const REPORTS = words('error errors err fail failed code status state message msg reason');
/** A longer text is not kept. */
const MOST_CHARACTERS = 200;
const [MOST_MEMBERS, MOST_LEVELS] = [100, 5];

/** The members beside the list in the answers of a feed. They tell an answer that leaves out an empty list from other answers. */
export class AnswerShape {
  /** The members of the latest answer with a list, without lists. */
  private latest: Members | null = null;

  /** An answer with a list was noted. */
  get isKnown(): boolean {
    return this.latest !== null;
  }

  /** @param answer holds a list */
  note(answer: Members): void {
    this.latest = kept(answer) as Members;
  }

  /**
   * Whether an answer without the list holds nothing that an answer with it would not hold. A member of an unknown name or with another
   * value may be a report, or the list by another name.
   * @param key dotted path of the list
   */
  isLike(answer: Members, key: string): boolean {
    return this.latest !== null && isLike(this.latest, answer, key.split('.'));
  }
}

function kept(value: unknown, level = 0): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value === 'string') return value.length > MOST_CHARACTERS ? undefined : value;
  if (!isObject(value)) return value;
  if (level === MOST_LEVELS) return {};
  const members = Object.entries(value).slice(0, MOST_MEMBERS);
  return Object.fromEntries(members.map(([name, one]) => [name, kept(one, level + 1)]));
}

/** @param way names that lead to the list from here */
function isLike(before: Members, members: Members, [onTheWay, ...way]: readonly string[]): boolean {
  return Object.entries(members).every(([name, value]) => {
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    // PHP writes an object without members as an empty list.
    if (Array.isArray(value) && value.length === 0) return was !== undefined;
    // It may be the list, by another name.
    if (Array.isArray(value) && was === undefined) return false;
    const isOnTheWay = name === onTheWay && way.length > 0;
    if (isObject(value) && isObject(was)) return isLike(was, value, isOnTheWay ? way : []);
    if (isOnTheWay) return false;
    const changing = typeof value === 'boolean' ? CHANGING_FLAGS : CHANGING;
    const named = name.split(/[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
    const mayBe = (word: string) =>
      changing.has(word) || (typeof value === 'number' && CHANGING_NUMBERS.has(word));
    const mayChange = named.some(mayBe) && !named.some((word) => REPORTS.has(word));
    if (isObject(value) && was === undefined) return mayChange && isLike({}, value, []);
    return mayChange || (was !== undefined && value === was);
  });
}
