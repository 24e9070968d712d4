import type { PublishedTopic } from '../../src/avro/published-topics';

export interface Header {
  readonly name: string;
  readonly meaning: string;
  /** Missing where there is nothing to say. */
  readonly isOptional?: true;
}

/** The headers of a topic's records. `test/rules/generated.test.ts` holds them against those that are written. */
export function eventHeaders({ kind, feed, transition }: PublishedTopic): readonly Header[] {
  if (kind === 'source-offset') return offsetHeaders;
  if (kind === 'current') return imageHeaders;
  if (kind === 'dead-letters') return [];
  const types = transition
    ? `\`${transition.eventType}\``
    : ['created', 'updated', 'deleted', 'read'].map((op) => `\`marketdata.${feed.name}.${op}\``).join(', ');
  const symbol: Header = {
    name: 'symbol',
    meaning: 'Ticker symbol, where the record has one.',
    isOptional: true,
  };
  return [
    { name: 'ce_specversion', meaning: 'CloudEvents version: `1.0`.' },
    {
      name: 'ce_id',
      meaning: transition
        ? `The id of the event: that of the change which caused it, with \`${transition.idSuffix}\` behind. Never repeats.`
        : 'The id of the event, `<feed>:<incarnation>:<seq>`. Never repeats.',
    },
    { name: 'ce_source', meaning: `\`/highwater/${feed.name}\`.` },
    { name: 'ce_type', meaning: `CloudEvents type: ${types}.` },
    { name: 'ce_subject', meaning: 'The record id.' },
    { name: 'ce_time', meaning: 'Time of observation, RFC 3339.' },
    { name: 'content-type', meaning: '`application/avro`.' },
    {
      name: 'op',
      meaning: transition
        ? '`c` or `u`: of the change that caused it.'
        : '`c`, `u`, `d` or `r`, as in the value.',
    },
    ...(feed.symbolField === null ? [] : [symbol]),
    {
      name: 'changed-fields',
      meaning: `On updates, the fields that differ, joined by commas${transition ? ': of the change that caused it' : ''}.`,
      isOptional: true,
    },
    {
      name: 'traceparent',
      meaning: 'The span of the poll, if the publisher runs with an OpenTelemetry SDK.',
      isOptional: true,
    },
  ];
}

const offsetHeaders: readonly Header[] = [
  { name: 'incarnation', meaning: "Id of this life of the feed's state." },
  { name: 'owner_epoch', meaning: 'Id of the ownership that committed this.' },
  { name: 'commit', meaning: 'Number of the transaction, decimal.' },
  { name: 'seq', meaning: '`seq` of the last change published, decimal.' },
];

const imageHeaders: readonly Header[] = [
  {
    name: 'event_id',
    meaning: 'Id of the change that wrote it; missing where a reset removed it.',
    isOptional: true,
  },
  { name: 'seq', meaning: '`seq` of that change, decimal.', isOptional: true },
  { name: 'incarnation', meaning: "Id of this life of the feed's state." },
];
