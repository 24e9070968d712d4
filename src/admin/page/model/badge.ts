import type { ChangeView, FieldView, TransitionView } from '../../dashboard/view';

/** `Hold, 7.00` and `Hold, 10.00` as `Hold, 7.00` and `10.00`; `Buy, 40.00` and `Hold, 40.00` as `Buy` and `Hold, 40.00`. */
export function parted({ before, after }: TransitionView): Pick<TransitionView, 'before' | 'after'> {
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

export const opWords: Readonly<Record<ChangeView['op'], { readonly mark: string; readonly word: string }>> = {
  c: { mark: '+', word: 'created' },
  u: { mark: '~', word: 'updated' },
  d: { mark: '−', word: 'deleted' },
  r: { mark: '·', word: 'read' },
};
