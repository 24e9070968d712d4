import '../../support/runs';
import fc from 'fast-check';
import { type Command, commandOf, namedCommand, outcomeOf, saidOutcome } from '../../../src/commands/command';
import { type CommandRecord, commandCodec, commandSchema } from '../../../src/commands/command-record';
import { type ErrorCode, HighwaterError } from '../../../src/errors';
import { commandsTopic } from '../../../src/log/topics';
import { memoryRegistry } from '../../support/registry';

const topic = commandsTopic('highwater', 'staging.');
const record: CommandRecord = {
  request_id: 'r',
  kind: 'failed',
  feed: 'ipos',
  ...namedCommand({ name: 'pause' }),
  asked_by: 'box:1',
  expires_ms: 2,
  owner: 'box:2',
  owner_id: 'o',
  summary: null,
  facts: { rows: '1' },
  ts_ms: 3,
  error: { code: 'LOG_BUSY', message: 'm', now: 'n', remedy: 'r' },
};

const day = fc
  .date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    name: fc.constantFrom(...(['pause', 'resume', 'reset', 'snapshot', 'retry-dead-letters'] as const)),
  }),
  fc.record({
    name: fc.constant('reconcile' as const),
    dryRun: fc.boolean(),
    allowDeletes: fc.option(fc.nat()),
  }),
  fc.record({ name: fc.constant('backfill' as const), from: day, to: day }),
);

it('brings every command through the topic as it was asked', async () => {
  const codec = commandCodec(topic, memoryRegistry());
  await fc.assert(
    fc.asyncProperty(command, async (asked) => {
      const wire = await codec.encode({ ...record, ...namedCommand(asked) });
      const read = await codec.decode(wire);
      expect(commandOf(read!)).toEqual(asked);
    }),
  );
});

it('carries the topic’s name with prefix and app id', () => {
  expect(topic).toEqual({
    name: 'staging.highwater.commands',
    partitions: 1,
    cleanup: 'delete',
    retentionMs: 86_400_000,
  });
});

it('reads what a later version wrote, by the members that it knows', async () => {
  const registry = memoryRegistry();
  const added = { name: 'added', type: 'string', default: '' };
  const later = { ...commandSchema, fields: [...commandSchema.fields, added] };
  const writer = commandCodec(topic, { ...registry, register: () => registry.register('', later) });
  const { encode } = writer;
  await registry.register('', { type: 'record', name: 'Other', fields: [] });
  // The bytes of `encode` lack the member, a string at the end: an empty string is one zero byte.
  const wire = Buffer.concat([await encode(record), Buffer.from([0])]);

  expect(await commandCodec(topic, registry).decode(wire)).toEqual(record);
});

it('passes over values that are none of a command', async () => {
  const registry = memoryRegistry();
  const id = await registry.register('', { type: 'record', name: 'Other', fields: [] });
  const codec = commandCodec(topic, registry);

  expect(await codec.decode(Buffer.from([0, 0, 0, 0, id]))).toBeNull();
  expect(await codec.decode(Buffer.from('{"pause":"ipos"}'))).toBeNull();
  expect(await codec.decode(Buffer.alloc(5))).toBeNull();
  const ours = await codec.encode(record);
  expect(await codec.decode(ours.subarray(0, ours.length - 3))).toBeNull();
  expect(await codec.decode(ours)).toEqual(record);
});

describe('a registry that does not tell what a schema id is', () => {
  /** Answers with an error until it is told otherwise. */
  function failing(code: ErrorCode) {
    const registry = memoryRegistry();
    const told: number[] = [];
    let error: HighwaterError | null = new HighwaterError(code, 'GET /schemas/ids/1 answered so');
    const asked: number[] = [];
    let now = 0;
    const codec = commandCodec(
      topic,
      {
        ...registry,
        schemaById(id) {
          asked.push(id);
          return error === null ? registry.schemaById(id) : Promise.reject(error);
        },
      },
      { passesOver: (id) => void told.push(id), now: () => now },
    );
    return {
      codec,
      asked,
      told,
      later(ms: number) {
        now += ms;
      },
      mend() {
        error = null;
      },
    };
  }

  it.each(['REGISTRY_REFUSED', 'REGISTRY_UNAUTHORIZED', 'SCHEMA_UNKNOWN'] as const)(
    'is asked seldom when it answers %s, and its records are passed over until it tells',
    async (code) => {
      const { codec, asked, told, later, mend } = failing(code);
      const wire = await codec.encode(record);
      for (let i = 0; i < 10; i++) expect(await codec.decode(wire)).toBeNull();
      expect([asked, told]).toEqual([[1], [1]]);
      later(10_000);
      expect(await codec.decode(wire)).toBeNull();
      expect([asked, told]).toEqual([[1, 1], [1]]);
      mend();
      later(10_000);
      expect(await codec.decode(wire)).toEqual(record);
    },
  );

  it('is asked again at once when it cannot be reached: the record may be a command', async () => {
    const { codec, told, mend } = failing('REGISTRY_UNREACHABLE');
    const wire = await codec.encode(record);
    await expect(codec.decode(wire)).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    mend();
    expect(await codec.decode(wire)).toEqual(record);
    expect(told).toStrictEqual([]);
  });
});

it.each([
  { command: 'dance', arguments: {} },
  { command: 'reconcile', arguments: { dry_run: 'perhaps', allow_deletes: 'null' } },
  { command: 'reconcile', arguments: { dry_run: 'true', allow_deletes: '-1' } },
  { command: 'backfill', arguments: { from: '"2026-02-30"', to: '"2026-03-01"' } },
  { command: 'backfill', arguments: {} },
])('does not take $command with $arguments for a command', (named) => {
  expect(commandOf(named)).toBeNull();
});

describe('an answer', () => {
  const through = (outcome: Parameters<typeof saidOutcome>[0]) => outcomeOf(saidOutcome(outcome));

  it('keeps summary and figures', () => {
    const done = { ok: true, summary: 'two', facts: { n: 2, of: 'x', all: true } } as const;
    expect(through(done)).toEqual(done);
  });

  it('keeps the three parts of an error', () => {
    const error = new HighwaterError('LOG_BUSY', 'what', { now: 'now', remedy: 'do' });
    expect(through({ ok: false, error })).toMatchObject({
      error: { code: 'LOG_BUSY', message: 'what', now: 'now', remedy: 'do' },
    });
  });

  it('names a code of a later version in its text', () => {
    const said = saidOutcome({ ok: false, error: new HighwaterError('LOG_BUSY', 'what') });
    const outcome = outcomeOf({ ...said, error: { ...said.error!, code: 'LOG_ON_FIRE' } });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'UNEXPECTED', message: 'LOG_ON_FIRE: what' } });
  });

  it('is no record that says how far it is', () => {
    expect(outcomeOf({ kind: 'progress', summary: 'half', facts: {}, error: null })).toBeNull();
  });
});
