import { type FeedDefinition, usualShape } from './definition';

/** The roster of analysts with their accuracy statistics. Specification 4.2. */
export const analysts: FeedDefinition = {
  ...usualShape,
  name: 'analysts',
  path: '/api/v2.1/calendar/ratings/analysts',
  responseKey: 'analyst_ratings_analyst',
  schema: 'analyst.avsc',
  topic: 'analysts',
  parameters: { page: 'page', pageSize: 'pageSize', updatedSince: 'updated' },
  query: {},
  pageSize: 1000,
  symbolField: null,
  unknowns: { emptyText: false, zero: [], zeroWithout: {} },
  transitions: [],
  display: {
    title: 'name_full',
    facts: ['firm_name', 'ratings_accuracy.smart_score', 'ratings_accuracy.total_ratings'],
    changes: ['ratings_accuracy.smart_score', 'firm_name', 'ratings_accuracy.overall_success_rate'],
  },
};
