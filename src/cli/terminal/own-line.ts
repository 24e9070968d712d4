import type { DeadLetterValue } from '../../avro/codec/feed-codec';
import type { DecodedRecord } from '../../avro/codec/record-decoder';
import type { CommandRecord } from '../../commands/command-record';
import { counted } from '../../format/counted';
import type { SourceOffset } from '../../state/source-offset';
import { harmless } from './cells';
import { type LineText, type Span, type Style, span } from './spans';

/** Lines for highwater's own records: positions, dead letters, commands. Null for anything else. */
export function ownLine({ type, value }: DecodedRecord): LineText | null {
  switch (type) {
    case 'highwater.SourceOffset':
      return position(value as SourceOffset);
    case 'highwater.DeadLetter':
      return deadLetter(value as DeadLetterValue);
    case 'highwater.Command':
      return command(value as CommandRecord);
    default:
      return null;
  }
}

function position(offset: SourceOffset): LineText {
  const {
    feed,
    high_water_mark: mark,
    record_count,
    seq,
    commit,
    snapshot,
    paused,
    parked,
    last_error,
  } = offset;
  const facts = [
    mark === 0 ? 'nothing read yet' : `read to ${new Date(mark * 1_000).toISOString().slice(0, 19)}Z`,
    counted(record_count, 'record'),
    `seq ${seq}`,
    `commit ${commit}`,
    ...(snapshot === 'complete' ? [] : [`snapshot ${snapshot}`]),
    ...(offset.backfill === null ? [] : [`backfill ${offset.backfill.from} to ${offset.backfill.to}`]),
  ];
  const wrong = [
    ...(paused ? ['paused'] : []),
    ...(parked === null ? [] : ['parked']),
    ...(last_error === null ? [] : [last_error]),
  ];
  return {
    label: span('= position', 'cyan'),
    spans: [
      span(`${harmless(feed)}  `, 'bold'),
      ...(wrong.length === 0 ? [] : [span(`${harmless(wrong.join(', '))}  `, 'red')]),
      span(facts.join(' · '), 'dim'),
    ],
  };
}

function deadLetter({ feed, reason, bytes, raw }: DeadLetterValue): LineText {
  return {
    label: span('✗ letter', 'red'),
    spans: [
      span(`${harmless(feed)}  `, 'bold'),
      span(harmless(reason), 'yellow'),
      span(`  ${counted(bytes, 'byte')}  ${harmless(raw.slice(0, 300).toWellFormed())}`, 'dim'),
    ],
  };
}

const kinds: Readonly<Record<string, Style>> = { request: 'bold', done: 'green', failed: 'red' };

function command({
  kind,
  feed,
  command: name,
  arguments: given,
  asked_by,
  owner,
  summary,
  error,
}: CommandRecord): LineText {
  const args = Object.entries(given).map(([key, value]) => `${key}=${value}`);
  const said: Span[] =
    error !== null
      ? [span(harmless(`${error.code}: ${error.message}`), 'red')]
      : summary !== null
        ? [span(harmless(summary))]
        : [span(harmless(kind === 'request' ? `asked by ${asked_by}` : `by ${owner ?? asked_by}`), 'dim')];
  return {
    label: span(`> ${kind}`, kinds[kind] ?? 'cyan'),
    spans: [span(`${harmless([name, feed, ...args].join(' '))}  `, 'bold'), ...said],
  };
}
