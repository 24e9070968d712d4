import type { ChangeView } from '../../../src/admin/dashboard/view';
import { aChange, aTransition } from '../../support/views';

const script = '<script>alert(1)</script>';
const image = '<img src=x onerror=alert(1)>';

/** Texts as no honest vendor sends them. */
export const hostileTexts: readonly string[] = [
  image,
  `</script>${script}`,
  '"><svg/onload=alert(1)>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '\u202Ednwardhtiw\u202C',
  '\u2066\u2067\u0000\u0007\u001b[31m',
  'https://example.com/'.padEnd(10_000, 'x'),
  'W'.repeat(10_000),
  'Z\u0351\u036B\u0343'.repeat(200),
  '👩‍👩‍👧‍👦🏳️‍🌈',
  '\uD800 half a letter',
  '__proto__',
  ' ',
];

/** A change with a hostile text in each place that can hold one. */
export function hostileChanges(): ChangeView[] {
  const changes = hostileTexts.map((text, at) =>
    aChange({
      key: text,
      symbol: text,
      title: text,
      op: (['c', 'u', 'd', 'r'] as const)[at % 4]!,
      fields: [
        { field: text, before: text, after: `${text} ` },
        { field: 'name', before: null, after: text },
        { field: 'notes', before: text, after: null },
      ],
      moreFields: 1_000_000,
      transitions: [
        aTransition({ ...(at % 2 === 0 ? {} : { type: text }), mark: text, before: text, after: text }),
      ],
    }),
  );
  const extremes: Partial<ChangeView>[] = [
    { symbol: null, title: '', fields: [], transitions: [] },
    { updated: Number.MAX_SAFE_INTEGER, observedAtMs: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER },
    { updated: -1, observedAtMs: -1, seq: -1 },
    { fields: [{ field: 'a', before: null, after: null }] },
    { transitions: [aTransition({ before: null, after: null })] },
  ];
  return [...changes, ...extremes.map((extreme) => aChange({ key: image, title: image, ...extreme }))];
}
