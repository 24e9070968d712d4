import type { JsonRecord } from '../endpoints';
import { type Random, recordId } from '../random';
import type { Universe } from './universe';
import { isoDate, prose } from './universe';

export const ratings = [
  'Strong Buy',
  'Buy',
  'Outperform',
  'Overweight',
  'Hold',
  'Neutral',
  'Underweight',
  'Underperform',
  'Sell',
] as const;
const actions = [
  'Maintains',
  'Maintains',
  'Maintains',
  'Reiterates',
  'Reiterates',
  'Upgrades',
  'Downgrades',
  'Initiates Coverage On',
  'Reinstates',
  'Assumes',
] as const;

/** `110.00`, `110.0000` or `110.0`: equal numbers of varying scale, as the vendor writes them. */
export function priceTarget(random: Random, price: number): string {
  return price.toFixed(random.pick([2, 2, 2, 2, 4, 1]));
}

export interface InsightFacts {
  readonly action: string;
  readonly rating: string;
  readonly price: number;
}

/** Length of an insight's text. */
const bytes = 1_300;

/** The headed paragraphs that come with a rating. */
export function insightText(random: Random, firm: string, company: string, facts: InsightFacts): string {
  const opening = `${firm} ${facts.action.toLowerCase()} ${company} with a ${facts.rating} rating and a price target of $${facts.price.toFixed(2)}.`;
  const half = Math.max(0, (bytes - opening.length - 60) / 2);
  return `${opening}  \n\n **Growth and Demand**: ${prose(random, half)}\n\n**Risks and Valuation**: ${prose(random, half)}`;
}

/** A research insight, published on the day of its `updated`. */
export function createInsight(random: Random, universe: Universe, updated: number): JsonRecord {
  const analyst = random.pick(universe.analysts);
  const company = random.pick(universe.companies);
  const facts: InsightFacts = {
    action: random.pick(actions),
    rating: random.pick(ratings),
    price: random.int(4, 480) / (random.chance(0.3) ? 2 : 1),
  };
  return {
    action: facts.action,
    analyst_id: analyst.id,
    analyst_insights: insightText(random, analyst.firm.name, company.name, facts),
    date: isoDate(updated - random.int(0, 3600)),
    firm: analyst.firm.name,
    firm_id: analyst.firm.id,
    id: recordId(random, updated),
    pt: random.chance(0.04) ? '' : priceTarget(random, facts.price),
    rating: facts.rating,
    rating_id: recordId(random, updated - 1200),
    security: {
      cik: company.cik,
      exchange: company.exchange,
      isin: company.isin,
      name: company.name,
      symbol: company.symbol,
    },
    updated,
  };
}
