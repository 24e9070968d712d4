import { feedNames } from '../../src/simulator/endpoints';
import { type RestlessMarket, startRestlessMarket } from '../faults/restless-market';

/**
 * A market that moves by every means: status changes, new ratings, touches, members that no schema knows, rows without id,
 * late rows, answers that fail.
 */
export function startMarket(): Promise<RestlessMarket> {
  return startRestlessMarket(20_260_801, {
    records: { insights: 500, analysts: 300, ipos: 400 },
    everyMs: 15,
  });
}

/** The API's present and past rows, for readers in any language. */
export function apiTruth(market: RestlessMarket): object {
  const truth = market.truth();
  return Object.fromEntries(
    feedNames.map((feed) => {
      const { records, history, unusable } = truth[feed];
      const versions = history.flatMap(({ record }) =>
        record === null || !('id' in record) ? [] : [record],
      );
      const usable = versions.filter(({ updated }) => typeof updated === 'number');
      return [feed, { records: Object.fromEntries(records), versions: usable, unusable }];
    }),
  );
}
