import type { PublishedTopic } from '../../src/avro/published-topics';

/** What no schema says of an event: why there is one, and when there is none. */
export interface EventTexts {
  /** In a few words, for lists. */
  readonly summary: string;
  readonly when: readonly string[];
  readonly whenNot: readonly string[];
  /** What the key of a record is. */
  readonly key: string;
}

const recordId = 'The record id, as plain text.';

export function eventTexts({ kind, feed, transition }: PublishedTopic): EventTexts {
  switch (kind) {
    case 'changes':
      return {
        summary: `A change of one record of \`${feed.name}\`, with the record before and after`,
        key: recordId,
        when: [
          '`c`: a record is seen that was not there before.',
          '`u`: a record differs from what was published of it last. `before` is that, and `changed_fields` names what differs.',
          '`r`: a snapshot or backfill reads a record for the first time, or a later snapshot shows it again. Take it as "this is the record now".',
          '`d`: a record is gone. Only on proof: two complete scans of a reconcile agree, and a probe shows its neighbours without it.',
        ],
        whenNot: [
          'A record is read again and nothing differs, or `updated` alone has moved.',
          'A number is written differently (`5.0000`, `5.00`), or an unknown is.',
          'A row has no usable `id` or `updated`, or the change is too large for the log: it becomes a [dead letter](highwater.DeadLetter.md).',
        ],
      };
    case 'current':
      return {
        summary: `The record of \`${feed.name}\` as it was last published; without a value when it was deleted`,
        key: recordId,
        when: ['With every change of the record, in the same transaction.'],
        whenNot: [],
      };
    case 'source-offset':
      return {
        summary: 'How far a feed has been read, and who reads it',
        key: "The feed's name, as plain text.",
        when: [
          'As the last record of every transaction: what it says and the changes before it are committed together.',
          'Now and then when nothing changes, so that `ts_ms` shows that the feed is read.',
          'When an operator pauses or resumes the feed, and when it is parked for an error.',
        ],
        whenNot: ['A poll finds nothing new, and the last one was written a short while ago.'],
      };
    case 'dead-letters':
      return {
        summary: 'A row of the API that could not be published',
        key: 'SHA-256 of the row as JSON text, hexadecimal.',
        when: [
          'A row has no usable `id` or `updated`, or the reserved id `__highwater_fence`.',
          'A change has a record that is larger than the log takes. Its row is then cut at 64 KB.',
          'Without a value: `highwater dead-letters retry` has published the row.',
        ],
        whenNot: [
          'The same content was kept before: each is kept once, however often it is read.',
          'A single value of a record is of another type than the schema says: it goes into `extra`, and the record is published.',
        ],
      };
    case 'transition':
      return transition!.kind === 'field' ? fieldTexts(transition!.field) : groupTexts;
  }
}

const fieldTexts = (field: string): EventTexts => ({
  summary: `The \`${field}\` of a record moved`,
  key: recordId,
  when: [
    `An update moves \`${field}\`, also while a first snapshot still runs.`,
    `A record is created that has a \`${field}\`: the status before is then null.`,
    'In the same transaction as the change that caused it, whose `event_id` is in `caused_by`.',
  ],
  whenNot: [
    'A record is read (`r`) by a snapshot or backfill for the first time: it brings no news.',
    `A record is deleted, or changes without moving \`${field}\`.`,
  ],
});

const groupTexts: EventTexts = {
  summary: "A firm's newest call on a symbol differs from the one before",
  key: 'Symbol and firm id, joined by `|`: all calls of a firm on a symbol are in order.',
  when: [
    "A created or updated insight is, or becomes, the firm's newest on the symbol (by `date`, then `updated`, then id), and its `rating` or `pt` differs from those of the newest before.",
    "It is the firm's first on the symbol: the previous fields are then null.",
    'In the same transaction as the change that caused it, whose `event_id` is in `caused_by`.',
  ],
  whenNot: [
    'An insight is read (`r`) by a snapshot or backfill for the first time: it brings no news.',
    'An insight arrives late that is older than the newest.',
    'The insight lacks a symbol or a firm id, or is deleted.',
    'The firm repeats rating and price target, or writes the price target differently (`5.0000`, `5.00`).',
  ],
};
