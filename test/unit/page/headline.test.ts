import type { FeedView } from '../../../src/admin/dashboard/view';
import { headline } from '../../../src/admin/page/model/headline';
import { firstModel, type Message, reduce } from '../../../src/admin/page/model/model';
import { aFeed } from '../../support/views';

const NOW = 1_790_000_000_000;

function told(...feeds: FeedView[]) {
  const messages: Message[] = [{ kind: 'opened' }, { kind: 'feeds', views: feeds, atMs: NOW }];
  return headline(messages.reduce(reduce, firstModel), NOW);
}

const problem = { code: 'SOURCE_UNAUTHORIZED', what: 'The API refused the token.', remedy: 'Renew it.' };
const parked = aFeed('insights', { condition: 'parked', problem });
const behind = aFeed('ipos', { condition: 'behind', lastCompleteScanMs: NOW - 250_000 });

it('says that all is well', () => {
  const all = told(aFeed('insights'), aFeed('analysts'), aFeed('ipos'));
  expect(all).toMatchObject({ tone: 'good', text: 'All 3 feeds are up to date', also: '' });
  expect(told(aFeed('ipos')).text).toBe('ipos is up to date');
});

it('says how far a feed is behind', () => {
  expect(told(aFeed('insights'), behind, aFeed('analysts'))).toMatchObject({
    tone: 'warning',
    text: 'ipos is 4 min behind',
    also: 'The other 2 are up to date',
  });
});

it('says why a feed is parked, in the words of its problem', () => {
  expect(told(parked, aFeed('ipos'))).toMatchObject({
    tone: 'bad',
    text: 'insights is parked: the API refused the token',
    also: 'ipos is up to date',
  });
});

it('tells the worst first', () => {
  const paused = aFeed('analysts', { condition: 'paused' });
  expect(told(paused, behind, parked)).toMatchObject({
    text: 'insights is parked: the API refused the token',
    also: 'ipos is 4 min behind · analysts is paused',
  });
});

it('does not take the first read for a fault', () => {
  const first = aFeed('ipos', { condition: 'behind', snapshot: 'running', lastCompleteScanMs: null });
  expect(told(first)).toMatchObject({ tone: 'busy', text: 'ipos is being read for the first time' });
});

it('names what other instances have', () => {
  const elsewhere = aFeed('ipos', { condition: 'standby', isOwn: false });
  expect(told(aFeed('insights'), elsewhere)).toMatchObject({
    tone: 'good',
    text: '1 feed is up to date',
    also: 'another instance reads ipos',
  });
  expect(told(elsewhere).text).toBe('Standing by: other instances read all feeds');
});

it('stays the same, to listeners, while only the time grows', () => {
  const later = aFeed('ipos', { condition: 'behind', lastCompleteScanMs: NOW - 500_000 });
  expect(told(later).text).not.toBe(told(behind).text);
  expect(told(later).key).toBe(told(behind).key);
  expect(told(parked).key).not.toBe(told(aFeed('insights')).key);
});

it('never says that all is well while the publisher is not heard', () => {
  const messages: Message[] = [
    { kind: 'opened' },
    { kind: 'feeds', views: [aFeed('ipos')], atMs: NOW },
    { kind: 'lost', atMs: NOW + 3_000 },
  ];
  const lost = headline(messages.reduce(reduce, firstModel), NOW + 4_000);
  expect(lost.tone).toBe('unknown');
  expect(lost.text).toMatch(/^No connection to the publisher since \d\d:\d\d:\d\d, trying again…$/);
});

it('says what it waits for before anything was told', () => {
  expect(headline(firstModel, NOW).text).toBe('Connecting to the publisher…');
  const refused = reduce(firstModel, { kind: 'refused', wasWrong: false });
  expect(headline(refused, NOW).text).toBe('The publisher asks for its token');
});
