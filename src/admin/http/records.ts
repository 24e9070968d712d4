import type { FastifyInstance, FastifyReply } from 'fastify';
import { recordDecoder } from '../../avro/codec/record-decoder';
import type { SchemaLookup } from '../../avro/registry/registry';
import { recordJson } from '../../json/json-text';
import type { FeedState } from '../../state/feed-state';
import type { FeedBoard } from '../feed-board';

const [USUAL_LIMIT, MOST] = [100, 1_000];

/**
 * Serves `GET /feeds/{feed}/records/{id}` and `GET /feeds/{feed}/records`: the present images, from the memory of the instance that
 * publishes the feed.
 */
export function serveRecords(app: FastifyInstance, board: FeedBoard, registry: SchemaLookup): void {
  const decode = recordDecoder(registry);

  /** The state of a feed of this instance; else the refusal is sent. */
  async function stateOf(name: string, reply: FastifyReply): Promise<FeedState | null> {
    const standing = board.feeds.find(({ feed }) => feed.name === name);
    if (standing === undefined) {
      reply.code(404).send({ error: `there is no feed ${name}` });
      return null;
    }
    if (standing.phase === 'owned' && standing.state !== null) return standing.state;
    const owner = (await board.owners())?.get(name) ?? null;
    const error = `this instance does not publish ${name}${owner === null ? '' : `; ask ${owner}`}`;
    reply.code(421).send({ error });
    return null;
  }

  async function shown(id: string, image: Buffer) {
    const place = { topic: '', partition: 0, logOffset: 0, timestamp: 0, headers: {} };
    const { value } = await decode({ ...place, key: id, value: image });
    return { id, record: value };
  }

  const json = (reply: FastifyReply, value: unknown) =>
    reply.type('application/json; charset=utf-8').send(recordJson(value));

  app.get<{ Params: { feed: string; '*': string } }>('/feeds/:feed/records/*', async (request, reply) => {
    const { feed, '*': id } = request.params;
    const state = await stateOf(feed, reply);
    if (state === null) return reply;
    const image = state.image(id);
    if (image === undefined) return reply.code(404).send({ error: `${feed} has no record of this id` });
    return json(reply, await shown(id, image));
  });

  app.get<{ Params: { feed: string }; Querystring: { after?: string; limit?: string } }>(
    '/feeds/:feed/records',
    async (request, reply) => {
      const { after = '-1', limit = String(USUAL_LIMIT) } = request.query;
      const state = await stateOf(request.params.feed, reply);
      if (state === null) return reply;
      const most = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
      if (most < 1 || most > MOST)
        return reply.code(400).send({ error: `limit is a number from 1 to ${MOST}` });
      if (!/^(-1|\d{1,10})$/.test(after))
        return reply.code(400).send({ error: 'after is the next of a page' });
      const records = [];
      let next: string | null = null;
      const { idOf, imageOf, numbers } = state.records;
      for (const number of numbers(Number(after) + 1)) {
        if (records.length === most) {
          next = String(number - 1);
          break;
        }
        records.push(await shown(idOf(number), imageOf(number)));
      }
      return json(reply, { records, next });
    },
  );
}
