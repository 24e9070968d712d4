import { isObject, type Members } from '../json/dotted-path';

/** Members that differ from answer to answer: places of pages, counts, times and marks of the answer itself. */
const CHANGING = new Set([
  ...[
    'total',
    'totals',
    'count',
    'offset',
    'skip',
    'start',
    'page',
    'pages',
    'limit',
    'size',
    'per',
    'number',
  ],
  ...['next', 'prev', 'previous', 'first', 'last', 'self', 'cursor', 'token', 'link', 'links', 'url', 'href'],
  ...['after', 'before', 'from', 'to', 'current'],
  ...[
    'etag',
    'id',
    'uuid',
    'time',
    'timestamp',
    'date',
    'updated',
    'took',
    'elapsed',
    'duration',
    'request',
    'trace',
  ],
]);
/** Flags that differ, too. */
const CHANGING_FLAGS = new Set([
  'more',
  'next',
  'previous',
  'first',
  'last',
  'done',
  'end',
  'final',
  'truncated',
]);
/** A member with such a word in its name reports how the request went. */
const REPORTS = new Set([
  'error',
  'errors',
  'err',
  'fail',
  'failed',
  'code',
  'status',
  'state',
  'message',
  'msg',
  'reason',
]);
/** A longer text is not kept. */
const MOST_CHARACTERS = 200;
const [MOST_MEMBERS, MOST_LEVELS] = [100, 5];

/** What stands beside the list in the answers of a feed, by which an answer that leaves out an empty list is recognized. */
export class AnswerShape {
  /** Of the latest answer with a list: its members, without lists. */
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
    const isOnTheWay = name === onTheWay && way.length > 0;
    if (isObject(value) && isObject(was)) return isLike(was, value, isOnTheWay ? way : []);
    if (isOnTheWay) return false;
    const words = name.split(/[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
    const changing = typeof value === 'boolean' ? CHANGING_FLAGS : CHANGING;
    const mayChange = words.some((word) => changing.has(word)) && !words.some((word) => REPORTS.has(word));
    return mayChange || (was !== undefined && value === was);
  });
}
