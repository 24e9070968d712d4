/**
 * The three endpoints as the vendor spells them. Written down again here, not taken from the feed definitions: the
 * simulator is the other side of the contract, and a wrong definition must fail against it.
 */
export const feedNames = ['insights', 'analysts', 'ipos'] as const;
export type FeedName = (typeof feedNames)[number];

/** One vendor record as parsed JSON. */
export type JsonRecord = { [member: string]: unknown };

export interface Endpoint {
  readonly path: string;
  readonly responseKey: string;
  readonly page: string;
  readonly pageSize: string;
  readonly updatedSince: string;
  /** Date parameters: exact day, start, end. Several spellings of the exact day may be accepted. */
  readonly dates: { readonly on: readonly string[]; readonly from: string; readonly to: string } | null;
  /** Without any date parameter only the latest date is shown. */
  readonly latestDayDefault: boolean;
  /** Order of an answer without updated-since. */
  readonly defaultOrder: 'date' | 'insertion';
  /** Where a record has its ticker symbol; the parameter that filters by it. */
  readonly symbol: (record: JsonRecord) => unknown;
  readonly symbols: string | null;
}

export const endpoints: Readonly<Record<FeedName, Endpoint>> = {
  insights: {
    path: '/api/v1/analyst/insights',
    responseKey: 'analyst-insights',
    page: 'page',
    pageSize: 'pageSize',
    updatedSince: 'parameters[updated]',
    dates: { on: ['date'], from: 'date_from', to: 'date_to' },
    latestDayDefault: true,
    defaultOrder: 'date',
    symbol: (record) => (record.security as JsonRecord | null | undefined)?.symbol,
    symbols: 'symbols',
  },
  analysts: {
    path: '/api/v2.1/calendar/ratings/analysts',
    responseKey: 'analyst_ratings_analyst',
    page: 'page',
    pageSize: 'pageSize',
    updatedSince: 'updated',
    dates: null,
    latestDayDefault: false,
    defaultOrder: 'insertion',
    symbol: () => '',
    symbols: null,
  },
  ipos: {
    path: '/api/v2.1/calendar/ipos',
    responseKey: 'ipos',
    page: 'page',
    pageSize: 'pagesize',
    updatedSince: 'parameters[updated]',
    dates: {
      on: ['ipo_date', 'parameters[ipo_date]'],
      from: 'parameters[date_from]',
      to: 'parameters[date_to]',
    },
    latestDayDefault: false,
    defaultOrder: 'date',
    symbol: (record) => record.ticker,
    symbols: 'parameters[tickers]',
  },
};
