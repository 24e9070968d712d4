import { feedDefinitions } from '../../src/feeds';
import { EventHeaders } from '../../src/pipeline/transaction/encode';
import { COMPILED } from '../../src/transcoder/compiled';
import type { ChangeEvents } from '../../src/types';
import { publishedTopics } from '../../tools/generate/catalogue';
import { eventHeaders as documentedHeaders } from '../../tools/generate/event-headers';
import { sourcesDigest } from '../../tools/transcoder/compile';

it('the transcoder is compiled from its sources as they are: `npm run generate:transcoder`', () => {
  expect(COMPILED.sources).toBe(sourcesDigest());
});

it('the headers that are documented are those that events have', () => {
  const event = {
    change: { id: 'a1' },
    tail: { op: 'u', event_id: 'feed:3f2a91c0:1', ts_ms: 1_790_000_000_000, changed_fields: ['name'] },
    transitions: [],
  };
  const documented = (topic: string) =>
    documentedHeaders(publishedTopics().find(({ spec }) => spec.name === topic)!).map(({ name }) => name);
  for (const feed of feedDefinitions) {
    const headers = new EventHeaders(feed);
    headers.trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const symbol = feed.symbolField === null ? null : 'CWUO';
    const change = { ...event, symbol } as unknown as ChangeEvents;
    expect(documented(feed.topic)).toEqual(Object.keys(headers.ofChange(change)));
    for (const [index, { topic }] of feed.transitions.entries()) {
      const written = headers.ofTransition(change, { index, key: 'a1', value: {} });
      expect(documented(topic)).toEqual(Object.keys(written));
    }
  }
});
