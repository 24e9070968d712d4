import type { JsonRecord } from '../endpoints';
import { type Random, recordId } from '../random';
import { companyName, exchanges, inventedName, isoDate, prose, ticker } from './universe';

const day = 86_400;
const types = [
  'Ordinary Shares',
  'Ordinary Shares',
  'Ordinary Shares',
  'Depository Receipt',
  'Unit',
  'SPAC Unit',
  'SPAC',
  'MandA',
  'Direct Listing',
  '',
] as const;
const statuses = [
  'Rumored',
  'Initial Filing',
  'Initial Filing',
  'Amended',
  'Priced',
  'Priced',
  'Priced',
  'Closed',
  'Closed',
  'Postponed',
  'Withdrawn',
] as const;
const states = ['CA', 'NY', 'TX', 'MA', 'WA', 'DE', 'Cayman Islands', ''] as const;

/** Day, month, quarter or bare year, as far as the date is known. */
function ipoDate(random: Random, seconds: number): string {
  const full = isoDate(seconds);
  const kind = random.next();
  if (kind < 0.8) return full;
  if (kind < 0.87) return full.slice(0, 7);
  if (kind < 0.93) return `${full.slice(0, 4)}-Q${Math.ceil(Number(full.slice(5, 7)) / 3)}`;
  return full.slice(0, 4);
}

function underwriters(random: Random, most: number): string[] {
  return Array.from(
    { length: random.int(most > 2 ? 0 : 1, most) },
    () => `${inventedName(random)} Securities`,
  );
}

/** Length of an IPO's JSON, reached through its texts. */
const bytes = 1_400;

/** An IPO at some point of its life. */
export function createIpo(random: Random, updated: number): JsonRecord {
  const status = random.pick(statuses);
  const priced = status === 'Priced' || status === 'Closed';
  const filed = status !== 'Rumored';
  const price = random.int(4, 40);
  const shares = random.int(10, 400) * 100_000;
  const outstanding = shares * random.int(3, 9);
  const ipoSeconds = updated + random.int(-40, 120) * day;
  const pricingDate = priced ? isoDate(ipoSeconds - day) : '';
  const year = Number(isoDate(updated).slice(0, 4)) - 1;
  const hasAccounts = filed && random.chance(0.6);
  const accession = filed
    ? `000${random.int(1_000_000, 1_999_999)}-${String(year + 1).slice(2)}-${random.int(100_000, 999_999)}`
    : '';
  const record: JsonRecord = {
    currency: 'USD',
    date: ipoDate(random, ipoSeconds),
    deal_status: status,
    description: '',
    exchange: random.pick(exchanges),
    id: recordId(random, updated),
    initial_filing_date: filed ? isoDate(ipoSeconds - 60 * day) : '',
    insider_lockup_date: priced ? isoDate(ipoSeconds + 180 * day) : '',
    insider_lockup_days: 180,
    ipo_type: random.pick(types),
    last_yr_income: hasAccounts ? random.int(-90_000, 60_000) * 1000 : 0,
    last_yr_income_year: hasAccounts ? year : 0,
    last_yr_revenue: hasAccounts ? random.int(0, 900_000) * 1000 : 0,
    last_yr_revenue_year: hasAccounts ? year : 0,
    lead_underwriters: underwriters(random, 2),
    market_cap_at_offer: priced ? outstanding * price : 0,
    name: companyName(random),
    notes: '',
    offering_shares: filed ? shares : 0,
    offering_shares_ord_adr: 0,
    offering_value: priced ? shares * price : 0,
    open_date_verified: priced,
    ord_shares_out_after_offer: priced ? outstanding + shares : 0,
    other_underwriters: underwriters(random, 4),
    price_max: filed ? `${price + 2}.000` : '',
    price_min: filed ? `${price - 1}.000` : '',
    price_open: status === 'Closed' ? (price * (0.8 + random.next() * 0.6)).toFixed(4) : '',
    price_public_offering: filed ? `${price}.000` : '',
    pricing_date: pricingDate,
    pricing_date_verified: priced,
    sec_accession_number: accession,
    sec_filing_url: filed ? `https://filings.invalid/Archives/${accession}.txt` : '',
    shares_outstanding: filed ? outstanding : 0,
    sic: filed ? random.int(1000, 8999) : 0,
    spac_converted_to_target: false,
    state_location: random.pick(states),
    ticker: ticker(random),
    time: `${String(random.int(7, 16)).padStart(2, '0')}:${String(random.int(0, 59)).padStart(2, '0')}:${String(random.int(0, 59)).padStart(2, '0')}`,
    underwriter_quiet_expiration_date: priced ? isoDate(ipoSeconds + 25 * day) : '',
    underwriter_quiet_expiration_days: priced ? 25 : 0,
    updated,
  };
  // Members are left out now and then instead of being empty.
  if (random.chance(0.03)) delete record.notes;
  const missing = bytes - JSON.stringify(record).length;
  if (missing > 0) record.description = prose(random, Math.max(0, missing - 40));
  return record;
}
