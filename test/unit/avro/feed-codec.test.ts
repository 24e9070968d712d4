import { Type } from 'avsc';
import { createFeedCodec } from '../../../src/avro/codec/feed-codec';
import type { SchemaRegistry } from '../../../src/avro/registry/registry';
import { feedDefinitions } from '../../../src/feeds/index';
import { feedTopics } from '../../../src/log/topics';
import { testFeed } from '../../support/feeds';
import { OBSERVED_AT_MS, testPipeline } from '../../support/pipeline';
import { analyst, insight, ipo } from '../../support/records';
import { memoryRegistry } from '../../support/registry';

const rows = { insights: insight, analysts: analyst, ipos: ipo } as const;

it.each(feedDefinitions.map((feed) => feed.name))(
  '%s: an envelope around image bytes is what Avro makes of the whole',
  async (name) => {
    const row = rows[name as keyof typeof rows];
    const pipeline = await testPipeline(testFeed(name));
    const { codec } = pipeline;
    const envelope = Type.forSchema(codec.schemas.envelope as never, { registry: {} });
    const events = [
      ...pipeline.page([row({ updated: 1, odd: 1 })], { snapshot: true }),
      ...pipeline.page([row({ updated: 2, id: 'second' })]),
      ...pipeline.page([row({ updated: 3, firm_name: 'Other', firm: 'Other', name: 'Other' })]),
    ];
    expect(events.map(({ change }) => change.op)).toEqual(['r', 'c', 'u']);
    for (const event of events) {
      const bytes = codec.encodeEnvelope(event.change, event.tail);
      const whole = { ...pipeline.images(event), ...event.tail };
      expect(bytes.subarray(5).equals(envelope.toBuffer(whole))).toBe(true);
      expect(envelope.fromBuffer(bytes.subarray(5))).toMatchObject({
        op: event.change.op,
        ts_ms: OBSERVED_AT_MS,
      });
    }
  },
);

it('names the envelope and its parts in the feed’s namespace', async () => {
  const { codec } = await testPipeline(testFeed('insights'));
  const names: string[] = [];
  Type.forSchema(codec.schemas.envelope as never, {
    registry: {},
    typeHook: (_schema, options) => {
      const { namespace } = options as { namespace?: string };
      const { name } = _schema as { name?: string };
      if (name !== undefined)
        names.push(`${(_schema as { namespace?: string }).namespace ?? namespace}.${name}`);
      return undefined;
    },
  });
  expect(names.sort()).toEqual([
    'marketdata.insights.Envelope',
    'marketdata.insights.Insight',
    'marketdata.insights.Security',
    'marketdata.insights.Source',
  ]);
});

it('reads images that an older version of the schema wrote', async () => {
  const { codec } = await testPipeline(testFeed('ipos'));
  const { record } = codec.schemas;
  const older = { ...record, fields: record.fields.filter((field) => field.name !== 'notes') };
  const writer = Type.forSchema(older as never, { registry: {} });
  const [decoded] = (await testPipeline(testFeed('ipos'))).decode([ipo()]).records;
  const bytes = Buffer.concat([Buffer.from([0, 0, 0, 0, 99]), writer.toBuffer(decoded!.values)]);
  expect(codec.image.knowsWriter(99)).toBe(false);
  expect(() => codec.image.decode(bytes)).toThrow('id 99');
  codec.image.addWriter(99, older);
  expect(codec.image.decode(bytes)).toMatchObject({
    id: decoded!.id,
    values: { notes: null, deal_status: 'Withdrawn' },
  });
});

it('encodes records larger than its first memory', async () => {
  const { codec, decode } = await testPipeline(testFeed('ipos'));
  const [record] = decode([ipo({ description: 'x'.repeat(300_000) })]).records;
  expect(codec.image.decode(codec.image.encode(record!)).values.description).toHaveLength(300_000);
});

describe('schemas of a feed', () => {
  const feed = testFeed('ipos');
  const topics = feedTopics(feed, '');

  it('are registered all at once', async () => {
    const asked: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const registry = memoryRegistry();
    const slow: SchemaRegistry = {
      ...registry,
      async register(subject, schema) {
        if (asked.push(subject) === 5) answer();
        await answered;
        return registry.register(subject, schema);
      },
    };

    await createFeedCodec(feed, topics, slow);

    expect(asked).toHaveLength(5);
  });

  it('fail with the error of the first of them, whichever answers first', async () => {
    const refusing: SchemaRegistry = {
      ...memoryRegistry(),
      async register(subject) {
        if (subject === 'ipos-value') await new Promise(setImmediate);
        throw new Error(subject);
      },
    };

    await expect(createFeedCodec(feed, topics, refusing)).rejects.toThrow('ipos-value');
  });
});
