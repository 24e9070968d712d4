import type { LogEvent } from '../../../src/consumer/event';
import type * as published from '../../../src/consumer/schemas';
import type { EventSource, EventTail } from '../../../src/types';

/** Whether the two types are the same one: each can stand for the other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

// Types are checked by `npm run typecheck`: jest strips them, so that no test could fail by them. Published events have only texts
// that the program writes.
true satisfies Same<published.Source, EventSource>;
true satisfies Same<published.RecordChange<1>['op'], EventTail['op']>;
true satisfies Same<published.DealStatusChanged['origin'], EventSource['origin']>;
true satisfies Same<published.RatingChanged['origin'], EventSource['origin']>;
// Topics are named as they are called.
true satisfies Same<keyof published.FeedRecords, 'insights' | 'analysts' | 'ipos'>;
true satisfies Same<published.TopicEvents['ipos']['value'], published.IpoChange>;
// @ts-expect-error there is no such topic
null as unknown as published.TopicEvents['ipos.deal-statuses'];

const record: LogEvent['record'] = {
  topic: 'ipos.deal-status',
  partition: 0,
  logOffset: 7,
  timestamp: 1_790_000_000_000,
  key: 'a1',
  value: null,
  headers: {},
};
const position = { topic: record.topic, partition: 0, offset: 7, key: 'a1', timestamp: record.timestamp };

const moved: published.TopicEvents['ipos.deal-status'] = {
  ...position,
  id: 'ipos:3f2a91c0:802:deal_status',
  type: 'marketdata.ipos.DealStatusChanged',
  value: {
    event_id: 'ipos:3f2a91c0:802:deal_status',
    caused_by: 'ipos:3f2a91c0:802',
    origin: 'poll',
    id: 'a1',
    name: 'Fenilvex',
    ticker: 'CWUO',
    exchange: null,
    previous_status: 'Initial Filing',
    status: 'Priced',
    updated: 1_790_000_000,
    ts_ms: 1_790_000_000_000,
  },
  headers: {},
  attempt: 1,
  record,
};

/** A handler of several topics. */
function told(event: published.HighwaterEvent): string {
  switch (event.type) {
    case 'marketdata.ipos.DealStatusChanged':
      // @ts-expect-error it is called previous_status
      void event.value.previousStatus;
      // @ts-expect-error a status may be unknown
      void event.value.status.length;
      return `${event.value.name}: ${event.value.previous_status} → ${event.value.status}`;
    case 'marketdata.insights.RatingChanged':
      return `${event.value.symbol}: ${event.value.previous_pt ?? '–'} → ${event.value.pt}`;
    case 'marketdata.ipos.Envelope':
      return ipoChange(event.value);
    case 'marketdata.insights.Envelope':
      return event.value.after?.security?.symbol ?? '';
    case 'marketdata.analysts.Envelope':
      return event.value.after?.ratings_accuracy?._1m_smart_score ?? '';
    case 'marketdata.insights.Insight':
    case 'marketdata.analysts.Analyst':
    case 'marketdata.ipos.Ipo':
      return event.value.id;
    case 'highwater.SourceOffset':
    case 'highwater.DeadLetter':
      return event.value.feed;
    case null:
      true satisfies Same<typeof event.value, null>;
      return event.key;
    default:
      // Nothing is left: a type that is added without a case here does not compile.
      return event satisfies never;
  }
}

function ipoChange(change: published.IpoChange): string {
  // @ts-expect-error there is none on d
  void change.after.name;
  switch (change.op) {
    case 'c':
    case 'r':
      true satisfies Same<typeof change.before, null>;
      return `+ ${change.after.name}`;
    case 'u':
      return `${change.before.name} → ${change.after.name}: ${change.changed_fields.join()}`;
    case 'd':
      true satisfies Same<typeof change.after, null>;
      return `- ${change.before.name}`;
    default:
      return change satisfies never;
  }
}

it('events are told apart by their type, and changes by their op', () => {
  expect(told(moved)).toBe('Fenilvex: Initial Filing → Priced');
  expect(told({ ...moved, type: null, value: null })).toBe('a1');
});
