/**
 * Fields of which highwater itself writes one of a few texts, by record and field. Texts of the vendor (`deal_status`,
 * `action`) are not among them: it may use a new one any day. `test/unit/consumer/schemas.test.ts` holds the types that
 * come of these against the program's own.
 */
export const closedTexts: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  Source: {
    snapshot: ['true', 'false'],
    origin: ['poll', 'snapshot', 'backfill', 'reconcile'],
  },
  DealStatusChanged: { origin: ['poll', 'snapshot', 'backfill', 'reconcile'] },
  RatingChanged: { origin: ['poll', 'snapshot', 'backfill', 'reconcile'] },
  SourceOffset: { snapshot: ['pending', 'running', 'complete'], page_offset_unit: ['page', 'record'] },
};
