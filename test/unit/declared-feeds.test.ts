import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { checkFeed } from '../../src/config/feeds/check-feed';
import { loadConfig } from '../../src/config/load-config';
import { feedDefinitions } from '../../src/feeds';
import { avroEvent, avroRecord } from '../support/avro';
import { configMistakes } from '../support/config-mistakes';
import { namedRows } from '../support/named-rows';
import { testPipeline } from '../support/pipeline';
import { tempFolder } from '../support/temp-folder';

type Section = Record<string, unknown>;
const folder = tempFolder();
let cwd: string;

beforeEach(() => {
  cwd = folder();
  const share = { type: 'record', name: 'Share', fields: [{ name: 'symbol', type: ['null', 'string'] }] };
  const fields = {
    kind: ['null', 'string'],
    share: ['null', share],
    paid: ['null', 'long'],
    state: ['null', 'string'],
  };
  writeFileSync(join(cwd, 'dividend.avsc'), avroRecord('Dividend', fields));
  writeFileSync(join(cwd, 'moved.avsc'), avroEvent('Moved', { id: 'string', again: 'boolean' }));
});

const transition = {
  kind: 'latest-in-group',
  group: ['share.symbol'],
  newestBy: ['updated'],
  differs: ['state'],
  same: { again: 'state' },
  type: 'Moved',
  schema: 'moved.avsc',
  topic: 'dividends.moves',
  eventType: 'marketdata.dividends.moved',
  idSuffix: ':moved',
  fields: { id: 'after.id' },
};

const dividends = {
  path: '/dividends',
  responseKey: 'dividends',
  schema: 'dividend.avsc',
  parameters: { page: 'page', pageSize: 'size', updatedSince: 'updated' },
  symbolField: 'share.symbol',
  unknowns: { zero: ['paid'], zeroWithout: { paid: 'state' } },
};

function load(feeds: Record<string, Section>) {
  writeFileSync(join(cwd, 'highwater.yaml'), stringify({ feeds }));
  const env = { HIGHWATER_API_URL: 'http://127.0.0.1:1', HIGHWATER_API_TOKEN: 'T0KEN' };
  return loadConfig({ flags: {}, env, cwd });
}

/** Without the folder of the test. */
const mistakes = (feeds: Record<string, Section>) =>
  configMistakes(() => load(feeds)).map((line) => line.replaceAll(`${cwd}/`, ''));

const declared = (change: Section, move: Section = {}) => ({
  dividends: { ...dividends, transitions: [{ ...transition, ...move }], ...change },
});

it.each(feedDefinitions.map((feed) => [feed.name, feed] as const))('%s is without mistake', (_, feed) => {
  expect(checkFeed(feed)).toStrictEqual([]);
});

it('a feed of one’s own, whose schemas name no namespace, runs', async () => {
  const feed = load(declared({})).feeds.at(-1)!;
  const pipeline = await testPipeline(feed);
  const row = { id: 'a', updated: 1, share: { symbol: 'S' }, paid: 1, state: 'open' };
  expect(pipeline.page([row])).toHaveLength(1);
});

it('an integer beyond an Avro int is kept beside its field', async () => {
  writeFileSync(join(cwd, 'dividend.avsc'), avroRecord('Dividend', { paid: ['null', 'int'] }));
  const { feeds } = load({ dividends: { ...dividends, symbolField: null, unknowns: {} } });
  const pipeline = await testPipeline(feeds.at(-1)!);
  const paid = (value: number) => {
    const [event] = pipeline.page([{ id: String(value), updated: 1, paid: value }]);
    return pipeline.images(event!).after;
  };
  const greatest = paid(2 ** 31 - 1);
  expect(greatest).toHaveProperty('paid', 2 ** 31 - 1);
  expect(greatest).toHaveProperty('extra', {});
  expect(paid(2 ** 31)).toMatchObject({ paid: null, extra: { paid: '2147483648' } });
});

it('a feed whose fields are called what every object answers to runs', async () => {
  const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON', 'isValid', 'clone'];
  const fields = Object.fromEntries(names.map((name) => [name, ['null', 'long']]));
  writeFileSync(join(cwd, 'dividend.avsc'), avroRecord('Dividend', fields));
  const { feeds } = load({ dividends: { ...dividends, symbolField: null, unknowns: {} } });
  const pipeline = await testPipeline(feeds.at(-1)!);
  const row = { id: 'a', updated: 1, ...Object.fromEntries(names.map((name, i) => [name, i])) };
  pipeline.page([row]);
  expect(pipeline.page([row])).toStrictEqual([]);
  const [event] = pipeline.page([{ ...row, updated: 2, constructor: 70, toString: 71 }]);
  expect(event!.tail.changed_fields).toEqual(['constructor', 'toString']);
  expect(Object.entries(pipeline.images(event!).after!)).toEqual(
    expect.arrayContaining([
      ['constructor', 70],
      ['valueOf', 2],
    ]),
  );
});

it('a display whose paths lead nowhere is refused, with the field that was meant', () => {
  const display = { title: 'stat', symbol: 'share.symbl', facts: ['state', 'payed'], changes: ['paid'] };
  expect(mistakes(declared({ display }, { display: { badges: { agian: {} } } }))).toEqual([
    'feeds.dividends.display.title (highwater.yaml, line 37): "stat" is not a field of the record; did you mean state?',
    expect.stringMatching(
      /display\.symbol .*"share\.symbl" is not a field of the record; did you mean share\.symbol\?/,
    ),
    expect.stringMatching(/display\.facts\.1 .*"payed" is not a field of the record/),
    expect.stringMatching(/display\.badges\.agian .*"agian" is not a field of the event/),
  ]);
});

describe('members that are left out', () => {
  const own = { paging: { style: 'cursor', parameter: 'after', lastRow: 'place' } };
  const refused = (change: Section, move: Section = {}) =>
    mistakes(declared({ ...own, display: { title: 'state', facts: ['paid'] }, ...change }, move));

  it('omit refuses what the feed needs, and says what needs it', () => {
    const omit = ['id', 'updated', 'place', 'share', 'share.symbol', 'state', 'paid', 'kind', 'share.isin'];
    expect(refused({ omit }, { differs: ['kind'], fields: { id: 'after.share.symbol' } })).toEqual([
      expect.stringMatching(
        /^feeds\.dividends\.omit\.0 \(highwater\.yaml, line \d+\): "id" is needed by idField$/,
      ),
      expect.stringMatching(/omit\.1 .*"updated" is needed by updatedField$/),
      expect.stringMatching(/omit\.2 .*"place" is needed by paging\.lastRow$/),
      expect.stringMatching(/omit\.3 .*"share" is needed by the transition Moved$/),
      expect.stringMatching(/omit\.4 .*"share\.symbol" is needed by the transition Moved$/),
      expect.stringMatching(/omit\.5 .*"state" is needed by the transition Moved$/),
      expect.stringMatching(/omit\.6 .*"paid" is needed by display\.facts$/),
      expect.stringMatching(/omit\.7 .*"kind" is needed by the transition Moved$/),
    ]);
  });

  it('ignore refuses keys and what transitions compare, not what they show', () => {
    const ignore = ['id', 'updated', 'place', 'share', 'state', 'kind', 'paid'];
    const event = avroEvent('Moved', { id: 'string', again: 'boolean', kind: ['null', 'string'] });
    writeFileSync(join(cwd, 'moved.avsc'), event);
    expect(refused({ ignore }, { fields: { id: 'after.id', kind: 'after.kind' } })).toEqual([
      expect.stringMatching(/ignore\.0 .*"id" is needed by idField$/),
      expect.stringMatching(/ignore\.1 .*"updated" is needed by updatedField$/),
      expect.stringMatching(/ignore\.3 .*"share" is needed by the transition Moved$/),
      expect.stringMatching(/ignore\.4 .*"state" is needed by the transition Moved$/),
    ]);
  });

  it('a path goes by the vendor’s names, and has no brackets', () => {
    const share = {
      type: 'record',
      name: 'Share',
      fields: [{ name: 'symbol', vendorName: 'sym.bol', type: ['null', 'string'] }],
    };
    const fields = { share: ['null', share], state: ['null', 'string'], paid: ['null', 'long'] };
    writeFileSync(join(cwd, 'dividend.avsc'), avroRecord('Dividend', fields));
    expect(refused({ omit: ['share.symbol', 'share.sym.bol'], transitions: [] })).toEqual([
      expect.stringMatching(/omit\.1 .*"share\.sym\.bol" is needed by symbolField$/),
    ]);
    expect(refused({ omit: ['lines[].note', ''], ignore: 'views', transitions: [] })).toEqual([
      expect.stringMatching(
        /omit\.0 .*: found "lines\[\]\.note", expected a dotted path such as customer\.email/,
      ),
      expect.stringMatching(/omit\.1 .*: found "", expected a dotted path/),
      expect.stringMatching(/ignore .*: found "views", expected a list of dotted paths$/),
    ]);
  });
});

it('a badge has a short mark and a tone that is known', () => {
  const badges = { again: { true: { mark: 'too long', tone: 'loud', wrod: 'X' } } };
  expect(mistakes(declared({ display: { titel: 'state' } }, { display: { badges } }))).toEqual([
    expect.stringMatching(/true\.mark .*: found "too long", expected one or two characters$/),
    expect.stringMatching(/true\.tone .*: found "loud", expected one of alarm, warning, up, /),
    expect.stringMatching(/true\.wrod .*: is not a setting of a feed; did you mean word\?$/),
    expect.stringMatching(/display\.titel .*: is not a setting of a feed; did you mean title\?$/),
  ]);
});

describe('of schemas', () => {
  it.each(
    namedRows({
      nothing: [null, 'the file "dividend.avsc" cannot be read (ENOENT), expected one beside'],
      'no JSON': ['{', 'the file "dividend.avsc" is not JSON'],
      'no Avro': ['{"type":"recrod"}', 'the file "dividend.avsc" is not a valid Avro schema: '],
      'no record': ['"string"', 'the file "dividend.avsc" holds no Avro record with a name'],
      'what no record can do without': [
        avroRecord('D', { id: 'double', updated: ['null', 'long'], extra: undefined }),
        'the file "dividend.avsc" lacks id (string, long, int; not null), updated (long; not null), extra (map of string)',
      ],
      'what cannot do without a value': [
        avroRecord('D', {
          paid: 'long',
          share: ['null', { type: 'record', name: 'S', fields: [{ name: 'symbol', type: 'string' }] }],
          state: ['string', 'null'],
        }),
        'the file "dividend.avsc" has no null among the types of paid, share.symbol, and any value can be missing',
      ],
      'a field that no object can have': [
        avroRecord('D', { ['__proto__']: ['null', 'long'] }),
        'the file "dividend.avsc" has a field named __proto__, which cannot be a field in JavaScript',
      ],
      'a record called as the envelope is': [
        avroRecord('Envelope'),
        'the file "dividend.avsc" does not fit into a change event: ',
      ],
    }),
  )('%s is told from a record', (_, text, problem) => {
    rmSync(join(cwd, 'dividend.avsc'));
    if (text !== null) writeFileSync(join(cwd, 'dividend.avsc'), text);
    const found = mistakes({ dividends: { ...dividends, symbolField: null, unknowns: {} } });
    expect(found).toEqual([
      expect.stringContaining(`feeds.dividends.schema (highwater.yaml, line 5): ${problem}`),
    ]);
  });

  it('schemas of transitions are read too', () => {
    const found = mistakes(declared({}, { schema: 'other.avsc' }));
    const written = readFileSync(join(cwd, 'highwater.yaml'), 'utf8').split('\n');
    const line = written.findIndex((text) => text.includes('other.avsc')) + 1;
    expect(found).toEqual([
      expect.stringContaining(
        `feeds.dividends.transitions.0.schema (highwater.yaml, line ${line}): the file "other.avsc" cannot be read`,
      ),
    ]);
  });
});

it('one end of a range of dates is told to lack the other', () => {
  const parameters = { ...dividends.parameters, dateFrom: 'from' };
  expect(mistakes(declared({ parameters }))).toEqual([
    expect.stringContaining('has dateFrom alone; dateFrom and dateTo go together'),
  ]);
  expect(mistakes(declared({ parameters: { ...parameters, dateTo: 'to' } }))).toStrictEqual([]);
  // A feed that has them can be without.
  expect(mistakes({ insights: { parameters: { dateFrom: null, dateTo: null } } })).toStrictEqual([]);
});

it('every path that leads nowhere is told, all at once, with its place', () => {
  const found = mistakes(
    declared(
      {
        symbolField: 'share.symbl',
        unknowns: { zero: ['paid', 'payed'], zeroWithout: { pade: 'state', paid: 'share.symbol' } },
      },
      {
        group: ['share.symbol', 'nope'],
        newestBy: ['date'],
        differs: ['extra.x'],
        same: { again: 'stat', agian: 'state' },
        fields: { id: 'after.ids', idd: 'before.id' },
      },
    ),
  );
  expect(found.map((line) => line.replace(/ \(highwater.yaml, line \d+\)/, ''))).toEqual([
    'feeds.dividends.symbolField: "share.symbl" is not a field of the record; did you mean share.symbol?',
    'feeds.dividends.unknowns.zero.1: "payed" is not a field of the record',
    'feeds.dividends.unknowns.zeroWithout.pade: "pade" is not a field of the record',
    'feeds.dividends.unknowns.zeroWithout.paid: "share.symbol" is not a field of the record',
    'feeds.dividends.transitions.0.fields.id: "after.ids" is not a field of the record; did you mean after.id?',
    'feeds.dividends.transitions.0.group.1: "nope" is not a field of the record',
    'feeds.dividends.transitions.0.newestBy.0: "date" is not a field of the record',
    'feeds.dividends.transitions.0.differs.0: "extra.x" is not a field of the record; did you mean extra?',
    'feeds.dividends.transitions.0.same.again: "stat" is not a field of the record; did you mean state?',
    'feeds.dividends.transitions.0.fields.idd: "idd" is not a field of the event; did you mean id?',
    'feeds.dividends.transitions.0.same.agian: "agian" is not a field of the event; did you mean again?',
  ]);
  expect(found.every((line) => /\(highwater.yaml, line \d+\)/.test(line))).toBe(true);
});

it('the field of a field transition is looked up', () => {
  const { group, newestBy, differs, same, ...common } = transition;
  writeFileSync(join(cwd, 'moved.avsc'), avroEvent('Moved', { id: 'string' }));
  const moves = [{ ...common, kind: 'field', field: 'stat', fields: { id: 'after.id' } }];
  expect(mistakes({ dividends: { ...dividends, transitions: moves } })).toEqual([
    expect.stringMatching(/^feeds.dividends.transitions.0.field \(.*\): "stat" is not a field of the record/),
  ]);
});

it('every mandatory field of an event must be filled', () => {
  expect(mistakes(declared({}, { fields: {}, same: {} }))).toEqual([
    expect.stringMatching(/^feeds.dividends.transitions.0.fields \(.*\): nothing fills id, again, which /),
  ]);
});

it('the fields that fill an event fit into it, also if they are missing', () => {
  const event = {
    id: 'string',
    updated: 'double',
    again: 'string',
    symbol: 'string',
    kind: 'string',
    was: 'string',
    paid: ['null', 'string'],
    state: ['null', 'string'],
  };
  writeFileSync(join(cwd, 'moved.avsc'), avroEvent('Moved', event));
  const fields = {
    id: 'after.id',
    updated: 'after.updated',
    symbol: 'after.share.symbol',
    kind: 'after.kind',
    was: 'before.id',
    paid: 'after.paid',
    state: 'before.state',
  };
  const found = mistakes(declared({}, { fields }));
  expect(found.map((line) => line.replace(/ \(highwater.yaml, line \d+\)/, ''))).toEqual([
    'feeds.dividends.transitions.0.fields.kind: "after.kind" can be null, and kind of the event cannot',
    'feeds.dividends.transitions.0.fields.was: "before.id" can be null, and was of the event cannot',
    'feeds.dividends.transitions.0.fields.paid: "after.paid" is of type long, and paid of the event of type string',
    'feeds.dividends.transitions.0.same.again: says true or false, and again of the event is of type string',
  ]);
});

it('an event type is declared once', () => {
  const twice = [transition, { ...transition, topic: 'dividends.more' }];
  expect(mistakes({ dividends: { ...dividends, transitions: twice } })).toEqual([
    expect.stringMatching(/^feeds.dividends.transitions.1.type \(.*\): "Moved" is declared twice/),
  ]);
});

it('mistakes inside a list of transitions are told as before', () => {
  expect(mistakes(declared({}, { topic: 'a b', idSufix: 'x' }))).toEqual([
    expect.stringMatching(/^feeds.dividends.transitions.0.topic \(.*\): found "a b", expected letters/),
    expect.stringMatching(
      /^feeds.dividends.transitions.0.idSufix \(.*\): is not a setting of a feed; did you mean/,
    ),
  ]);
  expect(mistakes({ ipos: { transitions: 'none' } })).toEqual([
    expect.stringMatching(/^feeds.ipos.transitions \(.*\): found "none", expected a list of transitions/),
  ]);
});

describe('topics', () => {
  it.each(
    namedRows({
      'that of another feed': [
        { insights: { topic: 'ipos' } },
        'insights.topic',
        'ipos" is the topic of ipos',
      ],
      'an image topic': [
        { ipos: { topic: 'ipos.current' } },
        'ipos.topic',
        'ipos.current" is a topic of ipos',
      ],
      'dead letters of a feed that comes later': [
        { insights: { topic: 'ipos.dead-letters' } },
        'insights.topic',
        'ipos.dead-letters" is a topic of ipos',
      ],
      'a transition’s': [
        { analysts: { topic: 'ipos.deal-status' } },
        'analysts.topic',
        'ipos.deal-status" is a topic of ipos',
      ],
      'another feed’s for a transition': [
        declared({}, { topic: 'ipos' }),
        'dividends.transitions.0.topic',
        'ipos" is the topic of ipos',
      ],
    }),
  )('%s cannot be taken', (_, feeds, key, problem) => {
    expect(mistakes(feeds as Record<string, Section>)).toEqual([
      expect.stringMatching(new RegExp(`^feeds.${key} \\(highwater.yaml, line \\d+\\): "${problem} already`)),
    ]);
  });

  it('a transition may have that of its own feed', () => {
    expect(mistakes(declared({}, { topic: 'dividends' }))).toStrictEqual([]);
  });
});
