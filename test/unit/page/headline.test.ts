import type { FeedView } from '../../../src/admin/dashboard/view';
import { headline, worstFirst } from '../../../src/admin/page/model/headline';
import { firstModel, type Message, type Model, reduce } from '../../../src/admin/page/model/model';
import { aFeed } from '../../support/views';

const NOW = 1_790_000_000_000;

/** After these messages. */
const after = (messages: readonly Message[], nowMs = NOW) =>
  headline([{ kind: 'opened' } as const, ...messages].reduce<Model>(reduce, firstModel), nowMs);
const told = (...views: FeedView[]) => after([{ kind: 'feeds', views, atMs: NOW }]);

const problem = {
  code: 'SOURCE_UNAUTHORIZED',
  severity: 'bad',
  cause: 'The API refused the token.',
  what: 'GET https://api.example.com/ answered 401.',
  remedy: 'Renew it.',
  see: null,
  sinceMs: null,
  retryAtMs: null,
} as const;
const parked = aFeed('insights', { condition: 'parked', problem });
const behind = aFeed('ipos', { condition: 'behind', last_complete_scan_ms: NOW - 250_000 });

it('says that all is well', () => {
  const all = told(aFeed('insights'), aFeed('analysts'), aFeed('ipos'));
  expect(all).toMatchObject({ tone: 'good', text: 'All 3 feeds are up to date', also: '' });
  expect(told(aFeed('ipos')).text).toBe('ipos is up to date');
});

it('is not green while a delivery waits for its receiver', () => {
  const feeds = { kind: 'feeds', views: [aFeed('ipos')], atMs: NOW } as const;
  const toldOf = (waits: Readonly<Record<string, string | null>>) => {
    const usual = { lag: 1, dead_letters: 0 };
    const views = Object.entries(waits).map(([delivery, why]) => ({ ...usual, delivery, waits_for: why }));
    return after([feeds, { kind: 'deliveries', views }]);
  };
  expect(toldOf({ desk: 'answered 503', other: null })).toMatchObject({
    tone: 'warning',
    text: 'ipos is up to date',
    also: 'desk waits for a receiver',
  });
  expect(toldOf({ desk: 'answered 503', x: 'y' }).also).toBe('desk and x wait for a receiver');
});

it('says how far a feed is behind', () => {
  expect(told(aFeed('insights'), behind, aFeed('analysts'))).toMatchObject({
    tone: 'warning',
    text: 'ipos is 4 min behind',
    also: 'insights and analysts are up to date',
  });
});

it('cuts a long cause', () => {
  const odd = { ...problem, code: 'NEW_CODE', cause: `The moon is ${'very '.repeat(40)}full.` };
  const { text } = told(aFeed('insights', { condition: 'parked', problem: odd }));
  expect(text).toMatch(/^insights is parked: the moon is very .*…$/);
  expect(text.length).toBeLessThan(130);
});

it('tells the worst first', () => {
  const paused = aFeed('analysts', { condition: 'paused' });
  expect(told(paused, behind, parked, aFeed('a'), aFeed('b'), aFeed('c'), aFeed('d'))).toMatchObject({
    text: 'insights is parked: the API refused the token',
    also: 'ipos is 4 min behind · analysts is paused · 4 feeds are up to date',
  });
});

it('does not take the first read for a fault', () => {
  const first = aFeed('ipos', {
    condition: 'behind',
    being_read: true,
    snapshot: 'running',
    last_complete_scan_ms: null,
  });
  expect(told(first)).toMatchObject({ tone: 'busy', text: 'ipos is being read for the first time' });
  expect(told(first, first, first).text).toBe('All 3 feeds are being read for the first time');
});

it('names what other instances have', () => {
  const elsewhere = aFeed('ipos', { condition: 'standby', isOwn: false, last_complete_scan_ms: null });
  expect(told(aFeed('insights'), elsewhere)).toMatchObject({
    tone: 'good',
    text: 'insights is up to date',
    also: 'ipos is read by another instance',
  });
  expect(told(elsewhere).text).toBe('ipos is read by another instance');
});

it('counts a feed of another instance among those that are up to date, when the log says so', () => {
  const elsewhere = aFeed('ipos', { condition: 'standby', isOwn: false });
  expect(told(aFeed('insights'), elsewhere).text).toBe('Both feeds are up to date');
});

it('stays the same, to listeners, while only the time grows', () => {
  const later = aFeed('ipos', { condition: 'behind', last_complete_scan_ms: NOW - 500_000 });
  expect(told(later).text).not.toBe(told(behind).text);
  expect(told(later).key).toBe(told(behind).key);
  expect(told(parked).key).not.toBe(told(aFeed('insights')).key);
});

it('has a word for problems of feeds that are up to date', () => {
  expect(told(aFeed('ipos', { problem }), aFeed('insights'))).toMatchObject({
    tone: 'warning',
    text: 'Both feeds are up to date',
    also: '1 problem to look at',
  });
});

it('never says that all is well while the publisher is not heard', () => {
  const feeds = { kind: 'feeds', views: [aFeed('ipos')], atMs: NOW } as const;
  const lost = after([feeds, { kind: 'lost', atMs: NOW + 3_000 }], NOW + 4_000);
  expect(lost.tone).toBe('unknown');
  expect(lost.text).toMatch(/^No connection to the publisher since \d\d:\d\d:\d\d, trying again…$/);
});

it('says what it waits for before anything was told', () => {
  expect(headline(firstModel, NOW).text).toBe('Connecting to the publisher…');
  const refused = reduce(firstModel, { kind: 'refused', wasWrong: false });
  expect(headline(refused, NOW).text).toBe('The publisher asks for its token');
});

it('puts the feeds that a person has to look at before the others', () => {
  const feeds = [
    aFeed('a'),
    aFeed('b', { paused: true, condition: 'paused' }),
    aFeed('c', { condition: 'behind' }),
    aFeed('d', { condition: 'parked' }),
  ];
  expect(worstFirst(feeds, Date.now()).map(({ feed }) => feed)).toEqual(['d', 'c', 'a', 'b']);
});
