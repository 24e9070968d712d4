import { z } from 'zod';

const share = z.number().min(0).max(1).default(0);

/** Share of new records that depart from the specification. A share is the part of the records, chosen by id. */
const driftSchema = z.strictObject({
  /** Members that no schema knows: `cusip`, `ratings_accuracy.rank`, `6m_*`, `1y_gain_count`. */
  members: share,
  /** Values of another type: `insider_lockup_days` as text, `offering_value` as text, a boolean where text belongs. */
  types: share,
  /** Records without `id`. */
  withoutId: share,
  /** Records without `updated`. The server still knows when it was, and orders by it. */
  withoutUpdated: share,
  /** `updated` in milliseconds. */
  milliseconds: share,
  /** Decimals in text form get another scale at every write: `5.0000`, `5.00`, `5.0`. */
  scale: share,
  /** Texts that end in half a surrogate pair. */
  surrogates: share,
  /** A member `tree` of 600 lists within each other: more than a publisher takes. */
  deep: share,
  /** Counts of 0 are left out (analysts). The vendor does this. */
  leaveOutZeroCounts: z.boolean().default(true),
});
export type Drift = z.infer<typeof driftSchema>;

/** The switches of one feed. The defaults are a vendor that behaves. */
const behaviourSchema = z.strictObject({
  /** Whether the page parameter counts pages or records. */
  paging: z.enum(['index', 'offset']).default('index'),
  firstPage: z.union([z.literal(0), z.literal(1)]).default(0),
  /** The answer to page 0 if the first page is 1: the first page, or an empty one, or 400. */
  pageZero: z.enum(['first', 'empty', 'refused']).default('first'),
  /** The answer to a page behind the last row. */
  pastEnd: z.enum(['empty', 'first', 'last']).default('empty'),
  /** Most rows in an answer, for any page size. */
  pageCap: z.int().min(1).nullable().default(null),
  /** Under a cap page k begins at k × cap, or at k × page size (rows in between are never shown). */
  capStep: z.enum(['cap', 'asked']).default('cap'),
  /** Every page is the first page. */
  ignorePaging: z.boolean().default(false),
  /** Greatest record position that paging reaches; above it 400. */
  positionLimit: z.int().min(0).nullable().default(null),
  /** Order under updated-since. `shuffled` differs from request to request; `insertion` is by first appearance. */
  order: z.enum(['asc', 'desc', 'shuffled', 'insertion', 'date']).default('asc'),
  /** Records of the same second: in the order of writing, in another order at every request, or turned round on every other page. */
  ties: z.enum(['stable', 'shuffled', 'by-page']).default('stable'),
  /** Where the updated-since filter begins: at the second, behind it, at the next minute, or some hours off, as if it dropped the zone. */
  since: z.enum(['from', 'after', 'minute', 'hours', 'earlier']).default('from'),
  /** The updated-since filter is taken but not applied; the order is as `order` says. */
  ignoreUpdated: z.boolean().default(false),
  /** Without a date parameter only the latest date is shown (only for insights). */
  latestDayDefault: z.boolean().default(true),
  /** How an empty page is written. */
  emptyAs: z.enum(['array', 'not-found', 'null', 'object', 'bare']).default('array'),
  /** Characters of a body, as its header says. */
  charset: z.enum(['utf-8', 'iso-8859-1']).default('utf-8'),
  /** For so many seconds a cache on the way repeats an answer to the same address, and says its age. */
  cacheSeconds: z.int().min(0).default(0),
  /** `{"key":[…]}` or `[…]`. */
  bodyAs: z.enum(['keyed', 'bare']).default('keyed'),
  /** Seconds from writing until a row is shown; until then its former version is. */
  visibilityDelay: z.number().min(0).default(0),
  /** The part of the writes that the delay holds back. */
  visibilityDelayShare: z.number().min(0).max(1).default(1),
  /** Seconds by which the server's clock is ahead (negative: behind): `Date` header and new `updated` alike. */
  clockSkew: z.number().default(0),
  dateHeader: z.boolean().default(true),
  /** After each answer this many matching rows are touched and move to the end. */
  moveRowsPerRequest: z.int().min(0).default(0),
  /** Which rows move: the first in order, or any. */
  moveWhich: z.enum(['first', 'random']).default('random'),
  drift: driftSchema.prefault({}),
});
export type Behaviour = z.infer<typeof behaviourSchema>;
/** Any of the switches; those not named stay as they are. */
export type BehaviourChange = Partial<Omit<Behaviour, 'drift'>> & { drift?: Partial<Drift> };

export const defaultBehaviour: Behaviour = behaviourSchema.parse({});

/** @throws ZodError naming each switch that does not exist or has an impossible value */
export function changeBehaviour(current: Behaviour, change: BehaviourChange): Behaviour {
  return behaviourSchema.parse({ ...current, ...change, drift: { ...current.drift, ...change.drift } });
}
