/**
 * What lies where in the module's memory, in bytes. Whoever fills it (`plan.ts`, `transcoder.ts`) and the module itself read
 * this one file, so it has nothing but numbers that both languages know.
 */

/** How an object of the vendor becomes a record: its members in the order of the schema's fields. */
export const PLAN_BYTES = 16;
export const PLAN_MEMBERS = 0;
export const PLAN_COUNT = 4;
/** Which member came at which place in the latest object, 16 bits each: nearly always it is the same in the next. */
export const PLAN_ORDER = 8;
/** What the latest object had for each member. */
export const PLAN_SLOTS = 12;

/** So many places of members are remembered. */
export const ORDER_LENGTH = 256;
export const NO_MEMBER = 0xffff;

export const MEMBER_BYTES = 32;
/** The vendor's name, UTF-8. */
export const MEMBER_NAME = 0;
export const MEMBER_NAME_BYTES = 4;
export const MEMBER_TYPE = 8;
export const MEMBER_RULES = 12;
/** The byte that says which branch of the union follows: null, or the value. */
export const MEMBER_NULL_BRANCH = 16;
export const MEMBER_VALUE_BRANCH = 17;
/** Index of the member without which 0 is unknown; -1 without such a rule. */
export const MEMBER_NEEDS = 20;
/** The plan of the object within. */
export const MEMBER_WITHIN = 24;

export const TYPE_ID = 0;
export const TYPE_UPDATED = 1;
/** In a row that is encoded here it is always empty. */
export const TYPE_EXTRA = 2;
export const TYPE_TEXT = 3;
export const TYPE_LONG = 4;
export const TYPE_INT = 5;
export const TYPE_DOUBLE = 6;
export const TYPE_BOOLEAN = 7;
export const TYPE_TEXTS = 8;
export const TYPE_RECORD = 9;

/** Rules of a member, as bits. */
export const ZERO_IS_UNKNOWN = 1;
export const EMPTY_IS_UNKNOWN = 2;
export const IS_SYMBOL = 4;
export const IS_OMITTED = 8;

export const SLOT_BYTES = 32;
export const SLOT_KIND = 0;
/** Where the value begins and ends: of a text without its quotes. */
export const SLOT_START = 4;
export const SLOT_END = 8;
/** Slots of a number: mantissa (64 bits), power of ten, digits. */
export const SLOT_MANTISSA = 16;
export const SLOT_POWER = 12;
export const SLOT_DIGITS = 24;

/** One for each row that was read. */
export const ROW_BYTES = 40;
/** 1, or 0: the row is left to whoever parses JSON. */
export const ROW_IS_ENCODED = 0;
/** The row's own text. */
export const ROW_START = 4;
export const ROW_END = 8;
/** Within the image. */
export const ROW_ID = 12;
export const ROW_ID_END = 16;
/** 0: the record has none. */
export const ROW_SYMBOL = 20;
export const ROW_SYMBOL_END = 24;
export const ROW_IMAGE = 28;
export const ROW_IMAGE_END = 32;
/** Unix seconds, without a sign. */
export const ROW_UPDATED = 36;

/** The module reads and writes up to so many bytes beyond what it looks at; behind the text they are zero. */
export const SLACK = 64;
/** What a member takes at most, beside the text of its value. */
export const MOST_MEMBER_BYTES = 16;
/** Before each image: the header of the wire format. */
export const HEADER_BYTES = 5;
