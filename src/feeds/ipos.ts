import { type FeedDefinition, usualShape } from './definition';

/**
 * The IPO calendar. Specification 4.3. Its dates lie in the future or are a bare year: no date bounds in the query, and a
 * backfill by `updated`, for no window of days holds a record of "2026".
 */
export const ipos: FeedDefinition = {
  ...usualShape,
  name: 'ipos',
  path: '/api/v2.1/calendar/ipos',
  responseKey: 'ipos',
  schema: 'ipo.avsc',
  topic: 'ipos',
  parameters: { page: 'page', pageSize: 'pagesize', updatedSince: 'parameters[updated]' },
  query: {},
  pageSize: 1000,
  symbolField: 'ticker',
  unknowns: {
    emptyText: true,
    zero: [
      'sic',
      'last_yr_income_year',
      'last_yr_revenue_year',
      'offering_shares',
      'offering_value',
      'market_cap_at_offer',
      'shares_outstanding',
      'ord_shares_out_after_offer',
    ],
    zeroWithout: { last_yr_income: 'last_yr_income_year', last_yr_revenue: 'last_yr_revenue_year' },
  },
  transitions: [
    {
      kind: 'field',
      type: 'DealStatusChanged',
      schema: 'deal-status-changed.avsc',
      topic: 'ipos.deal-status',
      eventType: 'marketdata.ipos.deal-status-changed',
      idSuffix: ':deal_status',
      field: 'deal_status',
      fields: {
        id: 'after.id',
        name: 'after.name',
        ticker: 'after.ticker',
        exchange: 'after.exchange',
        previous_status: 'before.deal_status',
        status: 'after.deal_status',
        updated: 'after.updated',
      },
      // The statuses are the vendor's and not a closed set.
      display: {
        badge: { mark: '◇', word: 'STATUS' },
        badges: {
          status: {
            Withdrawn: { mark: '⚠', tone: 'alarm' },
            Postponed: { mark: '‖', tone: 'warning' },
            Priced: { mark: '◆' },
            Closed: { mark: '■' },
            Amended: {},
            'Initial Filing': { mark: '○', word: 'FILED' },
            Rumored: { mark: '○' },
          },
        },
      },
    },
  ],
  display: {
    title: 'name',
    facts: ['deal_status', 'date', 'exchange', 'price_public_offering'],
    changes: ['deal_status', 'price_public_offering', 'price_open', 'price_min', 'price_max', 'date'],
  },
};
