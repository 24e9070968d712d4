import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { AvroSchema, SchemaRegistry } from '../../src/avro/registry/registry';
import { HighwaterError } from '../../src/errors';
import { runs } from '../support/runs';

/** One storage for each test: a folder, or subjects of its own on a server. */
export interface SchemaRegistryHarness {
  /** Another instance over the same storage. */
  open(): SchemaRegistry;
  close(): Promise<void>;
}

type Field = { readonly name: string; readonly type: AvroSchema; readonly default?: unknown };

const nullable = (name: string, type = 'string'): Field => ({ name, type: ['null', type], default: null });

/** Everything that `src/avro/registry/registry.ts` promises, for any adapter. */
export function schemaRegistryContract(
  name: string,
  makeHarness: () => Promise<SchemaRegistryHarness>,
): void {
  describe(`${name} as a schema registry`, () => {
    let harness: SchemaRegistryHarness;
    let registry: SchemaRegistry;
    /** A server is shared with other tests: nobody else has these subjects and types. */
    let own: string;

    beforeEach(async () => {
      harness = await makeHarness();
      registry = harness.open();
      own = `t${randomBytes(5).toString('hex')}`;
    });
    afterEach(() => harness.close());

    const subject = (short: string) => `${own}.${short}-value`;
    const record = (...fields: readonly Field[]): AvroSchema => ({
      type: 'record',
      name: 'Ipo',
      namespace: own,
      fields: [{ name: 'id', type: 'string' }, ...fields],
    });
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => null,
        (error: unknown) => (error instanceof HighwaterError ? error.code : error),
      );

    it('makes a compatible schema the next version, with an id of its own', async () => {
      const first = await registry.register(subject('a'), record());
      const second = await registry.register(subject('a'), record(nullable('sic', 'long')));

      expect(second).not.toBe(first);
      const inspect = (schema: AvroSchema) => registry.inspect(subject('a'), schema);
      expect(await inspect(record())).toMatchObject({ state: 'registered', id: first, version: 1 });
      expect(await inspect(record(nullable('sic', 'long')))).toMatchObject({
        state: 'registered',
        id: second,
        version: 2,
        level: 'FULL_TRANSITIVE',
      });
    });

    it('refuses what no longer fits an earlier version, naming subject, version and field', async () => {
      await registry.register(subject('a'), record(nullable('sic', 'long')));
      await registry.register(subject('a'), record());
      const broken = record(nullable('sic', 'string'));

      const refused = registry.register(subject('a'), broken);

      await expect(refused).rejects.toMatchObject({
        code: 'SCHEMA_INCOMPATIBLE',
        message: expect.stringMatching(
          new RegExp(`${subject('a')}.*version 1 .*field sic: cannot read "string"`),
        ),
      });
      expect(await registry.inspect(subject('a'), broken)).toMatchObject({
        state: 'incompatible',
        reason: { version: 1, field: 'sic' },
      });
    });

    it('says how a schema stands without changing anything', async () => {
      const look = () => registry.inspect(subject('a'), record(nullable('sic', 'long')));

      expect(await look()).toEqual({ state: 'new', level: null });
      expect(await look()).toEqual({ state: 'new', level: null });
      await registry.register(subject('a'), record());
      expect(await look()).toMatchObject({ state: 'compatible', latest: 1 });
      expect(await look()).toMatchObject({ state: 'compatible', latest: 1 });
    });

    it('knows a schema again whatever the order of its attributes', async () => {
      const id = await registry.register(subject('a'), record());
      const { fields, ...rest } = record() as { fields: unknown };

      expect(await registry.register(subject('a'), { fields, ...rest })).toBe(id);
      expect(await registry.inspect(subject('a'), { fields, ...rest })).toMatchObject({ id, version: 1 });
      const next = record(nullable('sic'));
      expect(await registry.inspect(subject('a'), next)).toMatchObject({ state: 'compatible', latest: 1 });
    });

    it('takes a schema for another one when only an attribute of ours differs', async () => {
      const id = await registry.register(subject('a'), record(nullable('pt')));
      const marked = record({ ...nullable('pt'), decimalText: true } as Field);

      expect(await registry.register(subject('a'), marked)).not.toBe(id);
    });

    it('refuses what is no schema', async () => {
      const broken = record({ name: 'security', type: 'no.such.Type' });

      expect(await code(registry.register(subject('a'), broken))).toBe('SCHEMA_INCOMPATIBLE');
      expect(await registry.inspect(subject('a'), record())).toEqual({ state: 'new', level: null });
    });

    it('gives a schema back by its id, attributes of ours included', async () => {
      const marked = record({ ...nullable('pt'), decimalText: true } as Field);
      const id = await registry.register(subject('a'), marked);

      expect(await registry.schemaById(id)).toEqual(marked);
      expect(await harness.open().schemaById(id)).toEqual(marked);
    });

    it('gives all versions of a subject, oldest first, and none of another', async () => {
      const [first, next] = [record(), record(nullable('pt'))];
      const ids = [await registry.register(subject('a'), first), await registry.register(subject('a'), next)];

      expect(await harness.open().versions(subject('a'))).toMatchObject([
        { id: ids[0], version: 1, schema: first },
        { id: ids[1], version: 2, schema: next },
      ]);
      expect(await harness.open().versions(subject('b'))).toEqual([]);
    });

    it('says that it does not know an id, and asks again when it is there', async () => {
      const unknown = 2_000_000_000;

      await expect(registry.schemaById(unknown)).rejects.toMatchObject({
        code: 'SCHEMA_UNKNOWN',
        message: expect.stringContaining(`id ${unknown}`),
      });
      expect(await code(registry.schemaById(unknown))).toBe('SCHEMA_UNKNOWN');
    });

    it('gives several instances that register one schema at the same time the same id', async () => {
      const instances = Array.from({ length: 8 }, () => harness.open());

      const ids = await Promise.all(instances.map((one) => one.register(subject('a'), record())));

      expect(new Set(ids).size).toBe(1);
      // Apicurio may number simultaneous registrations of one schema as two versions. Records carry only the id.
      expect(await registry.inspect(subject('a'), record())).toMatchObject({
        state: 'registered',
        id: ids[0],
      });
    });

    it('lets several instances register under many subjects at the same time', async () => {
      const instances = [harness.open(), harness.open(), harness.open()];
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];

      const ids = await Promise.all(
        instances.flatMap((one) =>
          names.map((each) => one.register(subject(each), record(nullable(`of_${each}`)))),
        ),
      );

      expect(new Set(ids).size).toBe(names.length);
    });

    it('keeps every pair of versions compatible, whatever is registered in whatever order', async () => {
      // A field is left out, or nullable with one of two types: two schemas fit when no field has both types.
      const fields = fc.record({
        a: fc.constantFrom(null, 'long', 'string'),
        b: fc.constantFrom(null, 'long', 'string'),
      });
      const step = fc.record({ subject: fc.constantFrom('a', 'b'), fields });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
          run += 1;
          const ids = new Map<string, number>();
          const versions = new Map<string, (typeof steps)[number]['fields'][]>();
          for (const { subject: short, fields: wanted } of steps) {
            const text = JSON.stringify(wanted);
            const present = Object.entries(wanted).filter(([, type]) => type !== null);
            const schema = record(
              nullable(`run${run}`),
              ...present.map(([name, type]) => nullable(name, type!)),
            );
            const there = versions.get(short) ?? [];
            versions.set(short, there);
            const isThere = there.some((one) => JSON.stringify(one) === text);
            const clashes = (one: typeof wanted) =>
              (['a', 'b'] as const).some(
                (f) => one[f] !== null && wanted[f] !== null && one[f] !== wanted[f],
              );

            const registering = registry.register(subject(`${short}${run}`), schema);

            if (!isThere && there.some(clashes)) {
              expect(await code(registering)).toBe('SCHEMA_INCOMPATIBLE');
              continue;
            }
            const id = await registering;
            expect(ids.get(text) ?? id).toBe(id);
            if (!ids.has(text)) expect([...ids.values()]).not.toContain(id);
            ids.set(text, id);
            if (!isThere) there.push(wanted);
          }
        }),
        { numRuns: runs(10) },
      );
    });
  });
}
