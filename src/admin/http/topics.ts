import type { FastifyInstance } from 'fastify';
import { type Decoder, valueDecoder } from '../../avro/codec/record-decoder';
import { knownSchemas } from '../../consumer/connect';
import { type LogEvent, toEvent } from '../../consumer/event';
import type { Opened } from '../../consumer/open-log';
import { type Condition, isWanted } from '../../delivery/delivery';
import { cloudEvent } from '../../delivery/message';
import { HighwaterError } from '../../errors';
import { recordJson } from '../../json/json-text';
import type { TopicEnds } from '../../log/consumer-log';
import { lastEventId, type Stream } from './server';

interface TopicQuery {
  readonly from?: string;
  readonly follow?: string;
  readonly where?: string | readonly string[];
}

interface Reading {
  readonly topic: string;
  readonly from: TopicEnds;
  readonly isFollowing: boolean;
  readonly where: Readonly<Record<string, Condition>>;
}

/**
 * Serves `GET /topics/{topic}/events`: the events of a topic as server-sent events or as lines of JSON.
 */
export function serveTopics(app: FastifyInstance, open: () => Opened, stream: Stream): void {
  let decoder: Decoder | null = null;
  app.get<{ Params: { topic: string }; Querystring: TopicQuery }>(
    '/topics/:topic/events',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const log = open();
      decoder ??= valueDecoder(log.registry, knownSchemas(log.feeds));
      const deps = { ...log, decoder };
      const isSse = /\btext\/event-stream\b/.test(request.headers.accept ?? '');
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const { params, query } = request;
      const reading = await readingOf(params.topic, lastEventId(request), query, log, gone.signal);
      if (gone.signal.aborted) return reply.hijack();
      if ('error' in reading) return reply.code(reading.status).send({ error: reading.error });
      const text = isSse ? sseText : lineText;
      // A reader that loses its connection before the first event goes on from here.
      const start = reading.from.ends.size === 0 ? 'beginning' : positionText(reading.from);
      reply.header('x-position', start);
      return stream(reply, isSse ? 'text/event-stream' : 'application/x-ndjson', (signal) =>
        texts(eventsOf(reading, deps, signal), isSse ? `id: ${start}\n\n` : '', text, signal),
      );
    },
  );
}

interface Refusal {
  readonly status: 400 | 404;
  readonly error: string;
}

async function readingOf(
  name: string,
  lastId: string | null,
  { from: given = 'end', follow = 'yes', where: conditions = [] }: TopicQuery,
  { log, topicPrefix }: Opened,
  signal: AbortSignal,
): Promise<Reading | Refusal> {
  const topic = `${topicPrefix}${name}`;
  const bad = (error: string): Refusal => ({ status: 400, error });
  if (!['yes', 'no'].includes(follow)) return bad('follow is yes or no');
  const where = conditionsOf([conditions].flat());
  if (where === null) return bad('where is field=value or field!=value, one of them for each field');
  const from = lastId ?? given;
  const position = from === 'end' || from === 'beginning' ? from : positionOf(from);
  if (position === null) return bad('from is beginning, end, or the position of an event');
  if (follow === 'no' && position !== 'beginning') return bad('follow=no goes with from=beginning');
  const now = await log.ends(topic, 'reachable', signal);
  if (now.ends.size === 0) return { status: 404, error: `the log has no topic ${topic}` };
  if (typeof position !== 'string' && [...position.ends.keys()].some((partition) => !now.ends.has(partition)))
    return bad('from is not a position in this topic');
  const start = { beginning: { ...now, ends: new Map() }, end: now };
  return {
    topic,
    from: typeof position === 'string' ? start[position] : position,
    isFollowing: follow === 'yes',
    where,
  };
}

/** `status=Withdrawn`, `op!=r`. Values of one field that are repeated are alternatives. */
function conditionsOf(texts: readonly string[]): Record<string, Condition> | null {
  const where: Record<string, Condition> = Object.create(null);
  for (const text of texts) {
    const [, path, not, value] = /^([^!=]+)(!?)=(.*)$/s.exec(text) ?? [];
    if (path === undefined) return null;
    const known = where[path]?.values ?? [];
    const isNot = not === '!';
    if (known.length > 0 && where[path]!.not !== isNot) return null;
    where[path] = { values: [...known, value!], not: isNot };
  }
  return where;
}

/** Offsets of the records to come, by partition: `0:17,1:4`, and behind `@` the topic's id if it has one. */
function positionText({ topicId, ends }: TopicEnds): string {
  const places = [...ends].map(([partition, next]) => `${partition}:${next ?? '-'}`);
  return `${places.join(',')}${topicId === null ? '' : `@${topicId}`}`;
}

function positionOf(text: string): TopicEnds | null {
  if (!/^\d{1,6}:(\d{1,15}|-)(,\d{1,6}:(\d{1,15}|-))*(@[\w-]{22})?$/.test(text)) return null;
  const [places = '', topicId = null] = text.split('@');
  const ends = places.split(',').map((place) => {
    const [partition, next] = place.split(':');
    return [Number(partition), next === '-' ? null : Number(next)] as const;
  });
  return { topicId, ends: new Map(ends) };
}

interface PlacedEvent {
  readonly event: LogEvent;
  /** From which a reader goes on behind it. */
  readonly position: string;
}

async function* eventsOf(
  { topic, from, isFollowing, where }: Reading,
  { log, decoder }: Pick<Opened, 'log'> & { readonly decoder: Decoder },
  signal: AbortSignal,
): AsyncGenerator<PlacedEvent> {
  const { topicId } = from;
  const ends = new Map(from.ends);
  const records = isFollowing ? log.follow(topic, from.ends, signal, topicId) : log.load(topic, signal);
  for await (const record of records) {
    ends.set(record.partition, record.logOffset + 1);
    const event = await toEvent(record, decoder);
    if (isWanted({ where }, event.value)) yield { event, position: positionText({ topicId, ends }) };
  }
}

/** The answer has begun, so an error is its last text. */
async function* texts(
  events: AsyncIterable<PlacedEvent>,
  head: string,
  text: typeof sseText,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    if (head !== '') yield head;
    for await (const { event, position } of events) yield text({ ...cloudEvent(event), position }, position);
  } catch (error) {
    if (signal.aborted) return;
    const { code, message, remedy } =
      error instanceof HighwaterError ? error : new HighwaterError('UNEXPECTED', 'the topic cannot be read');
    yield text({ error: { code, message, remedy } }, null);
  }
}

function sseText(data: object, position: string | null): string {
  const head = position === null ? 'event: error\n' : `id: ${position}\n`;
  return `${head}data: ${recordJson(data)}\n\n`;
}

function lineText(data: object): string {
  return `${recordJson(data)}\n`;
}
