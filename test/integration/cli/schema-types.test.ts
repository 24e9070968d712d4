import { writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { wireType } from '../../../src/avro/codec/wire-type';
import { root } from '../../support/build';
import { commandsHere } from '../../support/cli';

const { file, done } = commandsHere();

const write = (name: string, text: string) => writeFileSync(file(name), text);
const writeSchema = (file: string, schema: object) => write(file, JSON.stringify(schema));

async function types(...args: string[]): Promise<{ readonly out: string; readonly err: string }> {
  const { code, out, err } = await done(['schemas', 'types', ...args]);
  expect(code).toBe(0);
  return { out, err };
}

/** TypeScript's errors for a program beside the printed types: `4: Property 'totl' does not exist …`. */
function compiled(printed: string, program: string): string[] {
  write('feeds.ts', printed);
  write('program.ts', program);
  const files = ['feeds.ts', 'program.ts'].map((name) => file(name));
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const compiling = ts.createProgram(files, {
    ...options,
    noUnusedLocals: true,
    types: ['node'],
    typeRoots: [path.join(root, 'node_modules', '@types')],
    paths: { 'highwater/consumer': [path.join(root, 'src', 'consumer', 'index.ts')] },
  });
  const ofFiles = files.flatMap((file) => {
    const source = compiling.getSourceFile(file)!;
    return [...compiling.getSyntacticDiagnostics(source), ...compiling.getSemanticDiagnostics(source)];
  });
  return [...compiling.getGlobalDiagnostics(), ...compiling.getOptionsDiagnostics(), ...ofFiles].map(
    ({ file, start = 0, messageText }) =>
      `${(file?.getLineAndCharacterOfPosition(start).line ?? -1) + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  );
}

const nullable = (type: unknown) => ['null', type];
const field = (name: string, type: unknown) => ({ name, type: nullable(type), default: null });
const record = (name: string, fields: readonly object[]) => ({ type: 'record', name, fields });
const keys = [
  { name: 'id', type: 'string' },
  { name: 'updated', type: 'long' },
  { name: 'extra', type: { type: 'map', values: 'string' } },
];

const order = {
  ...record('Order', [
    ...keys,
    field('state', { type: 'enum', name: 'State', symbols: ['open', 'paid'], doc: 'How far it is.' }),
    field('labels', { type: 'array', items: nullable('string') }),
    field('weights', { type: 'map', values: nullable('double') }),
    field('items', {
      type: 'array',
      items: record('Item', [field('sku', 'string'), field('quantity', 'long')]),
    }),
    field('billing', { ...record('Address', [field('city', 'string')]), doc: 'Ends no */ comment.' }),
    field('shipped', { type: 'long', logicalType: 'timestamp-millis' }),
  ]),
  namespace: 'shop.orders',
};

const orderStateChanged = {
  ...record('OrderStateChanged', [
    ...['event_id', 'caused_by', 'origin', 'id'].map((name) => ({ name, type: 'string' })),
    { name: 'ts_ms', type: 'long' },
    field('state', { type: 'enum', name: 'State', symbols: ['open', 'paid'] }),
    field('previous_state', 'State'),
  ]),
  namespace: 'shop.orders',
};

const parcel = {
  ...record('Order', [
    ...keys,
    field('item', record('Item', [field('weight', 'double')])),
    field('former', { ...record('Item', [field('grams', 'long')]), namespace: 'shop.former' }),
    field('latest', record('LogEvent', [field('place', 'string')])),
  ]),
  namespace: 'shop.parcels',
};

const section = (name: string, more = '') => `  ${name}:
    path: /${name}
    responseKey: ${name}
    schema: ${name}.avsc
    parameters: { page: page, pageSize: size, updatedSince: since }
${more}`;

const transition = (topic: string) => `    transitions:
      - kind: field
        field: state
        type: OrderStateChanged
        schema: order-state-changed.avsc
        topic: ${topic}
        eventType: shop.orders.state-changed
        idSuffix: ":state"
        fields: { id: after.id, state: after.state, previous_state: before.state }
`;

function declare(sections: string): void {
  writeSchema('orders.avsc', order);
  writeSchema('order-state-changed.avsc', orderStateChanged);
  writeSchema('parcels.avsc', parcel);
  write('highwater.yaml', `feeds:\n${sections}`);
}

const consumer = `import './feeds';
import { connect } from 'highwater/consumer';
import type { Item, Order, OwnTopicEvents } from './feeds';

const log = connect();
void log.consume({ group: 'desk', topics: ['orders', 'orders.states', 'ipos.deal-status'] }, (event) => {
  if (event.type === 'shop.orders.OrderStateChanged') return event.value.previous_state === 'paid';
  if (event.type === 'marketdata.ipos.DealStatusChanged') return event.value.previous_status;
  if (event.value.op !== 'u') return event.value.source.endpoint;
  const { before, after } = event.value;
  const items: readonly Item[] = after.items ?? [];
  const quantity: number | null | undefined = items[0]?.quantity;
  const label: string | null | undefined = before.labels?.[0];
  const weight: number | null | undefined = before.weights?.net;
  const shipped: number | null = after.shipped;
  return [quantity, label, weight, shipped, after.billing?.city, after.extra.colour];
});
void log.consumeBatches({ group: 'copy', topics: ['orders.current'] }, (events) =>
  events.map(({ value }) => value?.state ?? 'open'),
);
const current = (event: OwnTopicEvents['orders.current']): Order | null => event.value;
async function table(): Promise<string | null | undefined> {
  for await (const { value } of log.read('orders.source-offset')) void value.feed;
  for await (const event of log.read('orders.current')) current(event);
  return (await log.table('orders')).get('1')?.billing?.city;
}
void table();
`;

describe('schemas types', () => {
  it('types the topics and the table of a feed of your own', async () => {
    declare(section('orders', transition('orders.states')));
    const { out } = await types('--topic-prefix', 'staging.');

    expect(compiled(out, consumer)).toStrictEqual([]);
  });

  it('lets no misspelt field or topic pass', async () => {
    declare(section('orders', transition('orders.states')));
    const { out } = await types('--feeds', 'orders');

    const program = `import './feeds';
import { connect } from 'highwater/consumer';
void connect().consume({ group: 'desk', topics: ['orders'] }, ({ value }) => value.after?.itms);
void connect().consume({ group: 'desk', topics: ['orders.states'] }, ({ value }) => value.state === 'payed');
void connect().consume({ group: 'desk', topics: ['orders.state'] }, ({ value }) => value.state);
`;
    expect(compiled(out, program)).toStrictEqual([
      expect.stringMatching(/^3: .*'itms' does not exist/),
      expect.stringMatching(/^4: .*'"payed"' have no overlap/),
      expect.stringMatching(/^5: 'value' is of type 'unknown'/),
    ]);
  });

  it('gives a topic that is shared with transitions the events of both', async () => {
    declare(section('orders', transition('orders')));
    const { out } = await types();

    const program = `import './feeds';
import { connect } from 'highwater/consumer';
void connect().consume({ group: 'desk', topics: ['orders'] }, (event) =>
  event.type === 'marketdata.orders.Envelope' ? event.value.after?.items : event.value.state,
);
`;
    expect(compiled(out, program)).toStrictEqual([]);
  });

  it('tells records of one name apart, in one feed and between feeds', async () => {
    declare(section('orders') + section('parcels'));
    const { out } = await types();

    const program = `import './feeds';
import { connect } from 'highwater/consumer';
void connect().table('orders', { onChange: ({ after }) => after?.items?.[0]?.sku });
void connect().table('parcels', { onChange: ({ after }) => [after?.item?.weight, after?.former?.grams, after?.latest?.place] });
`;
    expect(compiled(out, program)).toStrictEqual([]);
    expect(out.match(/(?<=interface )\w+/g)).toStrictEqual([
      'Item',
      'Address',
      'Order',
      'OrderItem',
      'OrderItem2',
      'OrderLogEvent',
      'ParcelsOrder',
      'OwnFeedRecords',
      'OwnTopicEvents',
      'FeedRecords',
      'TopicEvents',
    ]);
  });

  it('prints a file that compiles, and a note, when no feed is your own', async () => {
    declare(section('orders'));
    const { out, err } = await types('--feeds', 'ipos');

    expect(err).toContain('none of these feeds comes from highwater.yaml');
    expect(compiled(out, "import './feeds';\n")).toStrictEqual([]);
  });
});

it('a value with a logical type is decoded as the type beneath it, as the printed types say', () => {
  const wire = wireType<{ at: number }>(
    {
      type: 'record',
      name: 'Moment',
      fields: [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } }],
    },
    1,
  );
  expect(wire.decode(wire.encode({ at: 1_790_000_000_000 }))).toEqual({ at: 1_790_000_000_000 });
});
