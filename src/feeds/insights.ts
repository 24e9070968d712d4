import { type FeedDefinition, usualShape } from './definition';

/** Research and recommendations of analysts on securities. Specification 4.1. */
export const insights: FeedDefinition = {
  ...usualShape,
  name: 'insights',
  path: '/api/v1/analyst/insights',
  responseKey: 'analyst-insights',
  schema: 'insight.avsc',
  topic: 'insights',
  parameters: {
    page: 'page',
    pageSize: 'pageSize',
    updatedSince: 'parameters[updated]',
    dateFrom: 'date_from',
    dateTo: 'date_to',
  },
  // Without dates the endpoint answers the latest day only: every request names a range that holds everything.
  query: { date_from: '1970-01-01', date_to: '2999-12-31' },
  pageSize: 1000,
  symbolField: 'security.symbol',
  unknowns: { emptyText: false, zero: [], zeroWithout: {} },
  transitions: [
    {
      kind: 'latest-in-group',
      type: 'RatingChanged',
      schema: 'rating-changed.avsc',
      topic: 'insights.rating-changes',
      eventType: 'marketdata.insights.rating-changed',
      idSuffix: ':rating',
      group: ['security.symbol', 'firm_id'],
      newestBy: ['date', 'updated'],
      differs: ['rating', 'pt'],
      same: { correction: 'rating_id' },
      fields: {
        id: 'after.id',
        rating_id: 'after.rating_id',
        previous_rating_id: 'before.rating_id',
        symbol: 'after.security.symbol',
        security_name: 'after.security.name',
        exchange: 'after.security.exchange',
        firm_id: 'after.firm_id',
        firm: 'after.firm',
        analyst_id: 'after.analyst_id',
        action: 'after.action',
        previous_rating: 'before.rating',
        rating: 'after.rating',
        previous_pt: 'before.pt',
        pt: 'after.pt',
        previous_date: 'before.date',
        date: 'after.date',
        updated: 'after.updated',
      },
      display: {
        badge: { word: 'RATING' },
        badges: {
          correction: { true: { mark: '↻', word: 'CORRECTION', tone: 'corrected' } },
          action: {
            Upgrades: { mark: '▲', word: 'UPGRADE', tone: 'up' },
            Downgrades: { mark: '▼', word: 'DOWNGRADE', tone: 'down' },
            'Initiates Coverage On': { mark: '★', word: 'INITIATION', tone: 'new' },
          },
        },
      },
    },
  ],
  display: {
    title: 'firm',
    facts: ['action', 'rating', 'pt', 'date'],
    changes: ['rating', 'pt', 'action', 'date'],
  },
};
