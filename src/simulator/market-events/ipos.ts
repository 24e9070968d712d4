import type { JsonRecord } from '../endpoints';
import { createIpo } from '../generator/ipos';
import { isoDate } from '../generator/text';
import { recordId } from '../random';
import { type MarketEvent, type MarketScene, pickRecord } from './market-event';

const day = 86_400;
const seconds = (scene: MarketScene): number => scene.now('ipos');

/** Moves an IPO that stands at one of the given statuses; `change` returns what differs afterwards. */
function move(
  from: readonly string[],
  verb: string,
  change: (record: JsonRecord, scene: MarketScene) => JsonRecord,
): MarketEvent {
  return (scene) => {
    const { ipos } = scene.stores;
    const found = pickRecord(ipos, scene.random, ({ deal_status }) => from.includes(String(deal_status)));
    if (found === null) return null;
    const record = { ...found.record, ...change(found.record, scene), updated: seconds(scene) };
    ipos.upsert(record, { key: found.key });
    return `IPO ${verb}: ${found.record.name} (${found.record.ticker})`;
  };
}

const price = (record: JsonRecord): number => Number.parseFloat(String(record.price_public_offering)) || 10;

/** Rumored → Initial Filing → Amended → Priced → Closed, or off the road as Postponed or Withdrawn. */
export const ipoEvents = {
  filing: (scene) => {
    const { random, stores } = scene;
    const now = seconds(scene);
    const record: JsonRecord = {
      ...createIpo(random, now, 1400),
      id: recordId(random, now),
      deal_status: random.chance(0.2) ? 'Rumored' : 'Initial Filing',
      date: isoDate(now + random.int(10, 60) * day),
      initial_filing_date: isoDate(now),
      pricing_date: '',
      pricing_date_verified: false,
      price_open: '',
      insider_lockup_date: '',
    };
    stores.ipos.upsert(record);
    return `IPO filed: ${record.name} (${record.ticker})`;
  },
  amendment: move(['Initial Filing', 'Postponed'], 'amended', (record, { random }) => ({
    deal_status: 'Amended',
    price_min: `${Math.max(1, price(record) - random.int(1, 3))}.000`,
    price_max: `${price(record) + random.int(1, 4)}.000`,
    offering_shares: random.int(10, 400) * 100_000,
  })),
  pricing: move(['Initial Filing', 'Amended'], 'priced', (record, scene) => {
    const now = seconds(scene);
    const paid = price(record) + scene.random.int(-1, 2);
    const shares = Number(record.offering_shares) || 10_000_000;
    return {
      deal_status: 'Priced',
      date: isoDate(now + day),
      pricing_date: isoDate(now),
      pricing_date_verified: true,
      open_date_verified: true,
      price_public_offering: `${Math.max(1, paid)}.000`,
      offering_shares: shares,
      offering_value: shares * Math.max(1, paid),
      insider_lockup_date: isoDate(now + 181 * day),
    };
  }),
  closing: move(['Priced'], 'closed', (record, { random }) => ({
    deal_status: 'Closed',
    price_open: (price(record) * (0.8 + random.next() * 0.6)).toFixed(4),
  })),
  postponement: move(['Rumored', 'Initial Filing', 'Amended', 'Priced'], 'postponed', (_record, scene) => ({
    deal_status: 'Postponed',
    date: isoDate(seconds(scene) + 120 * day).slice(0, 4),
    pricing_date: '',
    pricing_date_verified: false,
  })),
  withdrawal: move(['Rumored', 'Initial Filing', 'Amended', 'Postponed'], 'withdrawn', (_record, scene) => ({
    deal_status: 'Withdrawn',
    date: isoDate(seconds(scene)).slice(0, 4),
    notes: 'Withdrawn by the issuer.',
  })),
} satisfies Record<string, MarketEvent>;
