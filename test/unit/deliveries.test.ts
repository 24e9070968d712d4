import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { targetOf } from '../../src/config/deliveries';
import { loadConfig } from '../../src/config/load-config';
import { foreignTopicsNote, isWanted } from '../../src/delivery/delivery';
import { messageOf } from '../../src/delivery/message';
import { feedDefinitions } from '../../src/feeds';
import { createRedactor } from '../../src/secrets/redaction';
import { Rotation } from '../../src/secrets/rotation';
import { namedRows } from '../support/named-rows';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();

function load(section: string) {
  writeFileSync(path.join(folder(), 'highwater.yaml'), `deliveries:\n  desk: ${section}\n`);
  return loadConfig({ flags: {}, env: {}, cwd: folder() }, 'deliveries').deliveries;
}

const hook = 'to: { webhook: "https://desk.example/hook" }';

it('a section has the topics, the conditions and the receiver of a delivery', () => {
  expect(
    load(
      `{ topics: [ipos, other], where: { op: [c, u], after.deal_status: { not: ~ } }, retryFor: 2d, ${hook} }`,
    ),
  ).toEqual([
    {
      name: 'desk',
      topics: ['ipos', 'other'],
      foreignTopics: ['other'],
      where: {
        op: { values: ['c', 'u'], not: false },
        'after.deal_status': { values: [null], not: true },
      },
      from: 'end',
      retryForMs: 172_800_000,
      to: { kind: 'webhook', url: 'https://desk.example/hook', secret: null },
    },
  ]);
});

it.each([
  ['ipos, other', /^no feed of these settings writes to the topic other: .* to it,/],
  [
    'other, more.current',
    /^no feed of these settings writes to the topics other, more\.current: .* to them,/,
  ],
  ['ipos, ipos.deal-status, ipos.dead-letters, delivery-other.dead-letters', null],
] as const)('topics that no feed has are told: %s', (topics, note) => {
  const [delivery] = load(`{ topics: [${topics}], ${hook} }`);
  expect(foreignTopicsNote(delivery!)).toEqual(note === null ? null : expect.stringMatching(note));
});

it.each(
  namedRows({
    'no topics': [
      `{ ${hook} }`,
      'deliveries.desk.topics (highwater.yaml, line 2): is not set, expected names of topics',
    ],
    'a name that no topic has': [
      `{ topics: [ipos, "a b"], ${hook} }`,
      'deliveries.desk.topics (highwater.yaml, line 2): found ["ipos","a b"], expected names of topics, such as ipos.deal-status, of letters',
    ],
    'names in one text, one of them a path': [`{ topics: "ipos, a/b", ${hook} }`, 'expected names of topics'],
    'no receiver': [
      '{ topics: [ipos] }',
      'deliveries.desk.to (highwater.yaml, line 2): is not set, expected webhook',
    ],
    'a field that the events lack': [
      `{ topics: [ipos.deal-status], where: { stauts: Withdrawn }, ${hook} }`,
      'deliveries.desk.where.stauts (highwater.yaml, line 2): is not a field of these events; did you mean status?',
    ],
    'a field of a record without its side': [
      `{ topics: [ipos], where: { deal_status: Withdrawn }, ${hook} }`,
      'deliveries.desk.where.deal_status',
    ],
    'a misspelt setting': [
      `{ topics: [ipos], wehre: {}, ${hook} }`,
      'is not a setting of a delivery; did you mean where?',
    ],
    'a condition of another form': [
      `{ topics: [ipos], where: { op: { is: c } }, ${hook} }`,
      'expected a value, a list',
    ],
    'two receivers': [
      '{ topics: [ipos], to: { webhook: "https://a.example", slack: { urlEnv: X } } }',
      'expected webhook',
    ],
    'a secret for Slack': [
      '{ topics: [ipos], to: { slack: { urlEnv: X }, secretEnv: Y } }',
      'expected webhook',
    ],
    'its own dead letters': [
      `{ topics: [delivery-desk.dead-letters], ${hook} }`,
      'deliveries.desk.topics (highwater.yaml, line 2): has the dead letters of this delivery itself',
    ],
    'two places of a secret': [
      '{ topics: [ipos], to: { webhook: "https://a.example", secretEnv: Y, secretFile: y } }',
      'expected webhook',
    ],
  }),
)('%s is refused', (_, section, message) => {
  expect(() => load(section)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
  );
});

it.each([
  '{ topics: [ipos], to: { slack: "https://hooks.slack.example/services/verysecret" } }',
  '{ topics: [ipos], to: { webhook: "https://a.example/?key=verysecret" } }',
  '{ topics: [ipos], to: { webhook: "https://a.example", secret: verysecret } }',
  '{ topics: [ipos], to: { "https://a.example/verysecret": 1 } }',
  '{ topics: [ipos], to: { webhook: "https://a.example", secretEnv: whsec_verysecret } }',
  '"https://hooks.slack.example/verysecret"',
  '[ "https://hooks.slack.example/verysecret" ]',
])('a section with a secret is refused, and the secret is not shown: %s', (section) => {
  expect(() => load(section)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('verysecret') }),
  );
});

it('a name that cannot be part of a topic is refused, and so is a section of another form', () => {
  const write = (text: string) => writeFileSync(path.join(folder(), 'highwater.yaml'), text);
  const loaded = () => loadConfig({ flags: {}, env: {}, cwd: folder() }, 'deliveries');
  write(`deliveries:\n  "a desk": { topics: [ipos], ${hook} }\n`);
  expect(loaded).toThrow('deliveries.a desk (highwater.yaml, line 2): is not a name');
  write('deliveries: [desk]\n');
  expect(loaded).toThrow('expected a section for each delivery');
});

const event = {
  op: 'u',
  after: { price: 5, volume: 9_007_199_254_740_993n, is_open: true, name: null, extra: { 'a.b': '1' } },
  changed_fields: ['price', 'name'],
  none: [],
  price_text: '7.000',
  code: '0012',
};

it.each([
  ['op', ['u'], true],
  ['op', ['c', 'd'], false],
  ['after.price', ['5.0'], true],
  ['after.price', [''], false],
  ['after.volume', ['9007199254740993'], true],
  ['after.is_open', ['true'], true],
  ['after.name', [null], true],
  ['after.name', ['null'], false],
  ['after.gone', [null], true],
  ['after.extra.a.b', ['1'], true],
  ['changed_fields', ['name'], true],
  ['changed_fields', ['op'], false],
  ['none', [null], true],
  ['price_text', ['7'], true],
  ['price_text', ['7.01'], false],
  ['code', ['12'], false],
  ['__proto__.x', [null], true],
] as const)('the condition %s: %j holds: %s', (field, values, holds) => {
  expect(isWanted({ where: { [field]: { values, not: false } } }, event)).toBe(holds);
  expect(isWanted({ where: { [field]: { values, not: true } } }, event)).toBe(!holds);
});

it('all conditions must hold', () => {
  const [yes, no] = [
    { values: ['u'], not: false },
    { values: ['u'], not: true },
  ];
  expect(isWanted({ where: {} }, null)).toBe(true);
  expect(isWanted({ where: { op: yes, 'after.op': yes } }, event)).toBe(false);
  expect(isWanted({ where: { op: yes, 'after.op': no } }, event)).toBe(true);
});

const feed = feedDefinitions.find(({ name }) => name === 'ipos')!;
const record = (value: unknown, type: string | null, more = {}) => ({
  id: '',
  type,
  value,
  topic: 'ipos',
  partition: 2,
  offset: 7,
  key: 'k',
  timestamp: 1_790_000_000_000,
  headers: {},
  attempt: 1,
  record: {} as never,
  ...more,
});

const text = (value: unknown, type: string | null, of: typeof feed | null = feed) => {
  const target = { kind: 'slack', secrets: { value: [] } } as const;
  return (JSON.parse(messageOf(record(value, type), target, () => of, 0).body) as { text: string }).text;
};

it.each(
  namedRows({
    'an update': [
      {
        op: 'u',
        before: { name: 'A', price_min: '1.50' },
        after: { name: 'A', price_min: null },
        changed_fields: ['price_min'],
      },
      '*ipos updated*  A: price_min 1.50 → –',
    ],
    'a new record': [
      {
        op: 'c',
        before: null,
        after: { name: '<A&B>', ticker: 'AB', deal_status: 'Filed' },
        changed_fields: [],
      },
      '*ipos created*  &lt;A&amp;B&gt; (AB): Filed',
    ],
    'a deleted record': [
      { op: 'd', before: { name: 'A', deal_status: 'Filed' }, after: null, changed_fields: [] },
      '*ipos deleted*  A: Filed',
    ],
  }),
)('Slack shows %s', (_, value, line) => {
  expect(text(value, 'marketdata.ipos.Envelope')).toBe(line);
});

it('Slack shows a record of no feed as JSON, a tombstone by its key, and no text without end', () => {
  expect(text({ a: 1 }, 'other.Thing', null)).toBe('*other.Thing*  k  {"a":1}');
  expect(text(null, null)).toBe('*tombstone*  k  null');
  expect(text({ a: 'x'.repeat(9_000) }, 'other.Thing', null)).toHaveLength(3_001);
});

it('an event without an id has the id of its place', () => {
  const target = { kind: 'webhook', secrets: { value: [] } } as const;
  const { headers, body } = messageOf(record(null, null), target, () => feed, 0);
  expect(headers['webhook-id']).toBe('ipos:2:7');
  expect(JSON.parse(body)).toMatchObject({
    id: 'ipos:2:7',
    type: 'tombstone',
    source: '/highwater/ipos',
    data: null,
  });
});

it('the secret parts of an address are hidden, and its words are not', () => {
  const address = 'https://hooks.slack.example/services/T1/verysecret1234?key=othersecret';
  const [delivery] = load('{ topics: [ipos], to: { slack: { urlEnv: DESK } } }');
  const rotation = new Rotation();
  const target = targetOf(delivery!, { env: { DESK: address }, cwd: folder(), rotation });
  expect(target).toMatchObject({ kind: 'slack', shown: 'https://hooks.slack.example' });
  const said = createRedactor(rotation.known)(
    `${address} services /services/T1/verysecret1234 verysecret1234`,
  );
  expect(said).toMatch(/ services /);
  expect(said).not.toMatch(/verysecret|othersecret/);
});
