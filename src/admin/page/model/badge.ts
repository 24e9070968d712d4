import type { ChangeView, FieldView, TransitionView } from '../../dashboard/view';

export type BadgeTone = 'alarm' | 'warning' | 'up' | 'down' | 'info';

export interface Badge {
  /** A shape, so that colour is never alone. */
  readonly mark: string;
  readonly tone: BadgeTone;
  readonly before: string | null;
  readonly after: string | null;
}

/** Values are the vendor's and not a closed set: others are shown as they come. */
const statuses: Readonly<Record<string, readonly [mark: string, tone: BadgeTone]>> = {
  Withdrawn: ['⚠', 'alarm'],
  Postponed: ['‖', 'warning'],
  Priced: ['◆', 'info'],
  Closed: ['■', 'info'],
};
const actions: Readonly<Record<string, readonly [mark: string, tone: BadgeTone]>> = {
  Upgrades: ['▲', 'up'],
  Downgrades: ['▼', 'down'],
  'Initiates Coverage On': ['★', 'info'],
};

export function badgeOf(change: ChangeView, { type, before, after }: TransitionView): Badge {
  const action = change.fields.find(({ field }) => field === 'action')?.after ?? '';
  const known = type === 'RatingChanged' ? own(actions, action) : own(statuses, after ?? '');
  const [mark, tone] = known ?? ['●', 'info'];
  return { mark, tone, ...parted(before, after) };
}

/** `Hold, 7.00` and `Hold, 10.00` as `Hold, 7.00` and `10.00`; `Buy, 40.00` and `Hold, 40.00` as `Buy` and `Hold, 40.00`. */
function parted(before: string | null, after: string | null): Pick<Badge, 'before' | 'after'> {
  const old = partsOf(before);
  const now = partsOf(after);
  const isOther = old?.length === now?.length && before !== after;
  const first = isOther ? now?.findIndex((part, at) => part !== old?.[at]) : 0;
  const last = isOther ? old?.findLastIndex((part, at) => part !== now?.[at]) : old?.length;
  return {
    before: old?.slice(0, (last ?? 0) + 1).join(', ') ?? null,
    after: now?.slice(first).join(', ') ?? null,
  };
}

/** A value that is empty leaves nothing between two commas. */
function partsOf(text: string | null): readonly string[] | undefined {
  return text?.split(', ').map((part) => (part.trim() === '' ? '–' : part));
}

/** The fields that no badge shows already. A badge joins several values by commas. */
export function untold({ fields, transitions }: ChangeView): readonly FieldView[] {
  const isTold = ({ before, after }: FieldView) =>
    transitions.some((told) => isIn(before, told.before) && after !== null && isIn(after, told.after));
  return fields.filter((field) => !isTold(field));
}

const isIn = (value: string | null, told: string | null) =>
  value === null || (told !== null && (told === value || told.split(', ').includes(value)));

/** A vendor may name a status `constructor`. */
function own<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export const opWords: Readonly<Record<ChangeView['op'], { readonly mark: string; readonly word: string }>> = {
  c: { mark: '+', word: 'created' },
  u: { mark: '~', word: 'updated' },
  d: { mark: '−', word: 'deleted' },
  r: { mark: '·', word: 'read' },
};
