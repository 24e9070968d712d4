import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/config/load-config';
import type { Feed } from '../../src/feeds/feed';
import type { Simulator } from '../../src/simulator/simulator';
import { testFeed, transitionsOnFeedTopic } from '../support/feeds';
import { writeAgain } from '../support/records';
import type { TestPublisher } from '../support/test-publisher';
import { world } from '../support/world';

let api: Simulator;
let publisher: TestPublisher;

async function start(feed: Feed): Promise<void> {
  ({ api, publisher } = await world({ feed, vendor: { records: { ipos: 3 } } }));
}

/** As `highwater.yaml` makes it. */
function configured(section: string): Feed {
  const cwd = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  try {
    writeFileSync(path.join(cwd, 'highwater.yaml'), section);
    return loadConfig({ flags: {}, env: {}, cwd }, 'nothing').feeds.find(({ name }) => name === 'ipos')!;
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

function subjects(): string[] {
  const found: string[] = [];
  publisher.log.registry.register = new Proxy(publisher.log.registry.register, {
    apply(register, self, args: [string, never]) {
      found.push(args[0]);
      return Reflect.apply(register, self, args);
    },
  });
  return found;
}

async function moveStatus(): Promise<void> {
  await publisher.poll();
  const [first] = [...api.truth('ipos').values()];
  writeAgain(api.stores.ipos, first!.id as string, { deal_status: 'Withdrawn' });
  await publisher.poll();
}

it('both types on one topic have subjects by topic and record', async () => {
  await start(configured(transitionsOnFeedTopic));
  const registered = subjects();
  await publisher.restart();
  await moveStatus();
  const events = await publisher.topic('ipos');
  expect(events.map(({ headers }) => headers.ce_type)).toEqual([
    'marketdata.ipos.read',
    'marketdata.ipos.read',
    'marketdata.ipos.read',
    'marketdata.ipos.updated',
    'marketdata.ipos.deal-status-changed',
  ]);
  const [change, transition] = events.slice(-2);
  expect(change!.decoded).toMatchObject({ op: 'u', after: { deal_status: 'Withdrawn' } });
  expect(transition!.decoded).toMatchObject({ caused_by: change!.decoded!.event_id, status: 'Withdrawn' });
  expect(await publisher.topic('ipos.deal-status')).toStrictEqual([]);
  expect([...new Set(registered)].sort()).toEqual([
    'ipos-marketdata.ipos.DealStatusChanged',
    'ipos-marketdata.ipos.Envelope',
    'ipos.current-value',
    'ipos.dead-letters-value',
    'ipos.source-offset-value',
  ]);
});

it('by default each topic has one type and one subject', async () => {
  await start(testFeed('ipos'));
  const registered = subjects();
  await publisher.restart();
  await moveStatus();
  expect(await publisher.topic('ipos')).toHaveLength(4);
  expect(await publisher.topic('ipos.deal-status')).toHaveLength(1);
  expect([...new Set(registered)].sort()).toEqual([
    'ipos-value',
    'ipos.current-value',
    'ipos.dead-letters-value',
    'ipos.deal-status-value',
    'ipos.source-offset-value',
  ]);
});
