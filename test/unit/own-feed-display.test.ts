import path from 'node:path';
import { readChange } from '../../src/admin/dashboard/change-feed';
import type { DecodedRecord } from '../../src/avro/codec/record-decoder';
import { feedsByTopic } from '../../src/cli/log/tail-topics';
import { eventLine } from '../../src/cli/terminal/event-line';
import { loadConfig } from '../../src/config/load-config';
import type { Display } from '../../src/feeds/definition';
import type { Feed } from '../../src/feeds/feed';

const zendesk = path.join(__dirname, '..', '..', 'examples', 'apis', 'zendesk');
const { feeds } = loadConfig({ flags: {}, env: {}, cwd: zendesk }, 'nothing');
const declared = feeds.find(({ name }) => name === 'tickets')!;

const ticket = {
  id: 35436,
  subject: 'Boat leaks',
  status: 'open',
  priority: 'high',
  assignee_id: 7,
  tags: ['boat'],
  created_at: null,
  generated_timestamp: 1_790_000_000,
  extra: {},
};

function shown(change: object, display: Display = declared.display, topic = 'tickets') {
  const feed: Feed = { ...declared, display };
  const envelope = {
    before: null,
    after: ticket,
    op: 'c',
    changed_fields: [],
    source: { origin: 'poll', updated: 1_790_000_000, seq: 1 },
    ts_ms: 1_790_000_000_000,
    event_id: 'tickets:a:1',
    ...change,
  };
  const record: DecodedRecord = {
    topic,
    partition: 0,
    logOffset: 0,
    timestamp: 1_700_000_000_000,
    key: '35436',
    headers: {},
    type: topic === 'tickets' ? 'marketdata.tickets.Envelope' : 'marketdata.tickets.Ticket',
    value: topic === 'tickets' ? envelope : ticket,
  };
  const feedOf = feedsByTopic({ feeds: [feed], topicPrefix: '' });
  const line = eventLine(record, { width: Infinity, color: false, feedAsLabel: true, feedOf }).slice(18);
  const { title, symbol, fields } = readChange(feed, { ...record, value: envelope }).view;
  return { line, title, symbol, fields: fields.map(({ field }) => field) };
}

it('tail and the dashboard show a new record by the declared title and facts', () => {
  const { line, ...view } = shown({});
  expect(line).toBe('+ tickets          Boat leaks                   open · high');
  expect(view).toEqual({ title: 'Boat leaks', symbol: null, fields: ['status', 'priority'] });
});

it('tail and the dashboard name the declared changes of a record first', () => {
  const update = {
    op: 'u',
    before: { ...ticket, assignee_id: 6, status: 'new' },
    changed_fields: ['assignee_id', 'status'],
  };
  const { line, fields } = shown(update);
  expect(line).toBe('~ tickets          Boat leaks                   status new → open, assignee_id 6 → 7');
  expect(fields).toEqual(['status', 'assignee_id']);
  expect(shown(update, { changes: ['assignee_id'] }).fields).toEqual(['assignee_id', 'status']);
});

it('a feed without display shows a text that is called like a title, and its first values', () => {
  const { line, ...view } = shown({}, {});
  expect(line).toBe('+ tickets          Boat leaks                   open · high · 7');
  expect(view).toEqual({ title: 'Boat leaks', symbol: null, fields: ['status', 'priority', 'assignee_id'] });
});

it('a record without title is shown by its key', () => {
  const { line, title } = shown({ after: { ...ticket, subject: null } });
  expect([line.includes(' 35436 '), title]).toEqual([true, '35436']);
});

it('a number may be the symbol of a record', () => {
  const { line, symbol } = shown({}, { symbol: 'assignee_id' });
  expect([line.startsWith('+ tickets    7     Boat leaks'), symbol]).toEqual([true, '7']);
});

it('tail shows the table of a feed like its changes', () => {
  expect(shown({}, declared.display, 'tickets.current').line).toBe(
    '= Ticket           Boat leaks                   open · high',
  );
});
