import { Webhook } from 'standardwebhooks';
import type { LogEvent } from '../consumer/event';
import {
  type ShownEnvelope,
  type ShownFeed,
  type ShownField,
  shownChange,
  shownTransition,
} from '../format/display';
import { shorterDecimal } from '../format/vendor-text';
import { recordJson } from '../json/json-text';
import type { Target } from './delivery';

/** A request that delivers an event. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Slack shows no more. Characters. */
const LONGEST_TEXT = 3_000;

/** @param feedOf the feed of a topic; null if it belongs to none */
export function messageOf(
  event: LogEvent,
  { kind, secrets }: Pick<Target, 'kind' | 'secrets'>,
  feedOf: (topic: string) => ShownFeed | null,
  nowMs: number,
): Message {
  if (kind === 'webhook') return webhookMessage(event, secrets.value, nowMs);
  const text = slackText(event, feedOf(event.topic));
  return { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ text }) };
}

/** By Standard Webhooks: the id is that of the event, so that a receiver knows an event that it got before. */
function webhookMessage(event: LogEvent, secrets: readonly string[], nowMs: number): Message {
  const body = recordJson(cloudEvent(event));
  // Records of other programs may have any id, and a header only some letters.
  const id = /^[\x21-\x7e]+$/.test(idOf(event)) ? idOf(event) : encodeURIComponent(idOf(event));
  const sentAt = new Date(nowMs);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body));
  return {
    headers: {
      'Content-Type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(nowMs / 1_000)),
      ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
    },
    body,
  };
}

/** In the structured mode of CloudEvents. */
export function cloudEvent(event: LogEvent): Readonly<Record<string, unknown>> {
  const { topic, partition, offset, key, type, timestamp, headers, value } = event;
  const given = Object.entries(headers).flatMap(([name, text]) =>
    name.startsWith('ce_') ? [[name.slice('ce_'.length), text] as const] : [],
  );
  return {
    specversion: '1.0',
    id: idOf(event),
    source: `/highwater/${topic}`,
    type: type ?? 'tombstone',
    time: new Date(timestamp).toISOString(),
    ...Object.fromEntries(given),
    datacontenttype: 'application/json',
    topic,
    partition,
    offset,
    partitionkey: key,
    ...(headers.traceparent !== undefined && { traceparent: headers.traceparent }),
    data: value,
  };
}

/** Images, positions and records of other programs have no id of their own. */
function idOf({ id, topic, partition, offset }: LogEvent): string {
  return id || `${topic}:${partition}:${offset}`;
}

const words: Readonly<Record<string, string>> = { c: 'created', u: 'updated', d: 'deleted', r: 'read' };

/** One line, in the words that the feed's `display` has for the event. */
function slackText(event: LogEvent, feed: ShownFeed | null): string {
  const text = phrase(event, feed);
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT).toWellFormed()}…` : text;
}

function phrase({ key, headers, type, value }: LogEvent, feed: ShownFeed | null): string {
  const transition = feed === null || value === null ? null : shownTransition(feed, { type, value, key });
  if (transition !== null) {
    const { badge, moves, isFirst } = transition;
    const moved = moves.map(({ path, before, after }, at) => {
      const name = at === 0 ? '' : `${path.split('.').at(-1)} `;
      return `${name}${isFirst || before === after ? '' : `${shown(before)} → `}${shown(after)}`;
    });
    return line(`${badge.mark} ${badge.word}`, transition, moved.join(', '));
  }
  if (feed === null || value === null || !type?.endsWith('.Envelope'))
    return `*${escaped(type ?? 'tombstone')}*  ${escaped(`${key}  ${recordJson(value)}`)}`;
  const { op } = value as ShownEnvelope;
  const change = shownChange(feed, { key, headers, value });
  const moved = ({ field, before, after }: ShownField) =>
    op === 'u' ? `${field} ${shown(before)} → ${shown(after)}` : shown(op === 'd' ? before : after);
  return line(`${feed.name} ${words[op] ?? op}`, change, change.fields.map(moved).join(', '));
}

function line(head: string, of: { readonly title: string; readonly symbol: string }, what: string): string {
  const name = of.symbol === '' ? of.title : `${of.title} (${of.symbol})`;
  return escaped(`*${head}*  ${name}: ${what}`);
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  return typeof value === 'string' ? shorterDecimal(value) : recordJson(value);
}

/** Slack reads links and mentions between angle brackets. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
