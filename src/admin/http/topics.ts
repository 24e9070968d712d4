import type { FastifyInstance } from 'fastify';
import { type Decoder, valueDecoder } from '../../avro/codec/record-decoder';
import { knownSchemas } from '../../consumer/connect';
import { toEvent } from '../../consumer/event';
import type { Opened } from '../../consumer/open-log';
import { type Condition, isWanted } from '../../delivery/delivery';
import { cloudEvent } from '../../delivery/message';
import { HighwaterError } from '../../errors';
import { recordJson } from '../../json/json-text';
import type { LogRecord } from '../../log/commit-log';
import type { TopicEnds } from '../../log/consumer-log';
import { lastEventId, type Stream } from './server';

interface TopicQuery {
  readonly from?: string;
  readonly follow?: string;
  readonly where?: string | readonly string[];
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
      const { log, registry, feeds, topicPrefix } = open();
      decoder ??= valueDecoder(registry, knownSchemas(feeds));
      const isSse = /\btext\/event-stream\b/.test(request.headers.accept ?? '');
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const { from: given = 'end', follow = 'yes', where: conditions = [] } = request.query;
      const topic = `${topicPrefix}${request.params.topic}`;
      const refuse = (error: string, status = 400) => reply.code(status).send({ error });
      if (!['yes', 'no'].includes(follow)) return refuse('follow is yes or no');
      const where = conditionsOf([conditions].flat());
      if (where === null) return refuse('where is field=value or field!=value, one of them for each field');
      const wanted = lastEventId(request) ?? given;
      const position = wanted === 'end' || wanted === 'beginning' ? wanted : positionOf(wanted);
      if (position === null) return refuse('from is beginning, end, or the position of an event');
      if (follow === 'no' && position !== 'beginning') return refuse('follow=no goes with from=beginning');
      const now = await log.ends(topic, 'reachable', gone.signal);
      if (gone.signal.aborted) return reply.hijack();
      if (now.ends.size === 0) return refuse(`the log has no topic ${topic}`, 404);
      const from: TopicEnds =
        position === 'end' ? now : position === 'beginning' ? { ...now, ends: new Map() } : position;
      if ([...from.ends.keys()].some((partition) => !now.ends.has(partition)))
        return refuse('from is not a position in this topic');
      // A reader that loses its connection before the first event goes on from here.
      const start = from.ends.size === 0 ? 'beginning' : positionText(from);
      reply.header('x-position', start);
      return stream(reply, isSse ? 'text/event-stream' : 'application/x-ndjson', (signal) => {
        const { topicId, ends } = from;
        const records = () =>
          follow === 'yes' ? log.follow(topic, ends, signal, topicId) : log.load(topic, signal);
        return texts(records, from, where, decoder!, isSse ? start : null, signal);
      });
    },
  );
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

/**
 * The answer has begun, so an error is its last text.
 * @param start of a stream of server-sent events; null: lines of JSON are wanted
 */
async function* texts(
  records: () => AsyncIterable<LogRecord>,
  from: TopicEnds,
  where: Readonly<Record<string, Condition>>,
  decoder: Decoder,
  start: string | null,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const text = start === null ? lineText : sseText;
  const ends = new Map(from.ends);
  try {
    if (start !== null) yield `id: ${start}\n\n`;
    for await (const record of records()) {
      // From there a reader goes on behind this event.
      ends.set(record.partition, record.logOffset + 1);
      const event = await toEvent(record, decoder);
      if (!isWanted({ where }, event.value)) continue;
      const position = positionText({ topicId: from.topicId, ends });
      yield text({ ...cloudEvent(event), position }, position);
    }
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
