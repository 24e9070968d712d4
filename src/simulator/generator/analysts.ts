import type { JsonRecord } from '../endpoints';
import type { Random } from '../random';
import type { Analyst } from './universe';
import { decimal } from './universe';

const periods = ['1m', '3m', '9m', '1y', '2y', '3y'] as const;
/** The periods whose losses are counted. */
const counted = ['9m', '1y', '2y', '3y'] as const;

/** Accuracy statistics as the vendor writes them: decimals as text, counts as integers. */
export function createAccuracy(random: Random): JsonRecord {
  const accuracy: JsonRecord = {};
  for (const period of periods) {
    accuracy[`${period}_average_return`] = decimal(random, -60, 60, 2);
    accuracy[`${period}_smart_score`] = decimal(random, 0, 100, 2);
    accuracy[`${period}_stdev`] = random.chance(0.2) ? '0.0' : decimal(random, 0, 40, 2);
    accuracy[`${period}_success_rate`] = decimal(random, 0, 100, 1);
  }
  for (const period of counted) accuracy[`${period}_loss_count`] = random.chance(0.3) ? 0 : random.int(1, 40);
  accuracy.overall_average_return = decimal(random, -60, 60, 2);
  accuracy.overall_avg_return_percentile = decimal(random, 0, 100, 1);
  accuracy.overall_loss_count = random.chance(0.1) ? 0 : random.int(1, 120);
  accuracy.overall_stdev = decimal(random, 0, 40, 2);
  accuracy.overall_success_rate = decimal(random, 0, 100, 1);
  accuracy.smart_score = decimal(random, 0, 100, 2);
  accuracy.total_ratings = random.int(1, 300);
  accuracy.total_ratings_percentile = decimal(random, 0, 100, 2);
  return accuracy;
}

export function createAnalyst(random: Random, analyst: Analyst, updated: number): JsonRecord {
  return {
    firm_id: analyst.firm.id,
    firm_name: analyst.firm.name,
    id: analyst.id,
    name_first: analyst.first,
    name_full: `${analyst.first} ${analyst.last}`,
    name_last: analyst.last,
    ratings_accuracy: createAccuracy(random),
    updated,
  };
}
