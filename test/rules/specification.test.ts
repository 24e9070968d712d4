import { feedSchemas } from '../../src/avro/schemas';
import { feedDefinitions } from '../../src/feeds';

/** Every field of the API's specification, section 2, with its type there. */
const text = (names: string) => names.split(' ').map((name) => [name, 'string'] as const);
const periods = ['1m', '3m', '9m', '1y', '2y', '3y'];
const specification: Record<string, Record<string, string>> = {
  insights: Object.fromEntries([
    ...text('id action analyst_id analyst_insights date firm firm_id pt rating rating_id'),
    ...text('security.cik security.exchange security.isin security.name security.symbol'),
    ['updated', 'integer'],
  ]),
  analysts: Object.fromEntries([
    ...text('id firm_id firm_name name_first name_last name_full'),
    ...periods.flatMap((p) =>
      text(`${p}_average_return ${p}_smart_score ${p}_stdev ${p}_success_rate`).map(
        ([n, t]) => [`ratings_accuracy.${n}`, t] as const,
      ),
    ),
    ...['9m', '1y', '2y', '3y', 'overall'].map(
      (p) => [`ratings_accuracy.${p}_loss_count`, 'integer'] as const,
    ),
    ...text(
      'overall_average_return overall_avg_return_percentile overall_stdev overall_success_rate smart_score total_ratings_percentile',
    ).map(([n, t]) => [`ratings_accuracy.${n}`, t] as const),
    ['ratings_accuracy.total_ratings', 'integer'],
    ['updated', 'integer'],
  ]),
  ipos: Object.fromEntries([
    ...text(
      'id name ticker exchange currency date time deal_status ipo_type description notes initial_filing_date pricing_date',
    ),
    ...text(
      'insider_lockup_date underwriter_quiet_expiration_date price_min price_max price_open price_public_offering',
    ),
    ...text('state_location sec_accession_number sec_filing_url'),
    ...['pricing_date_verified', 'open_date_verified', 'spac_converted_to_target'].map(
      (n) => [n, 'boolean'] as const,
    ),
    ...[
      'insider_lockup_days',
      'underwriter_quiet_expiration_days',
      'offering_shares',
      'offering_shares_ord_adr',
    ].map((n) => [n, 'integer'] as const),
    ...[
      'shares_outstanding',
      'ord_shares_out_after_offer',
      'last_yr_income_year',
      'last_yr_revenue_year',
      'sic',
      'updated',
    ].map((n) => [n, 'integer'] as const),
    ...['offering_value', 'market_cap_at_offer', 'last_yr_income', 'last_yr_revenue'].map(
      (n) => [n, 'number'] as const,
    ),
    ...['lead_underwriters', 'other_underwriters'].map((n) => [n, 'array of string'] as const),
  ]),
};

const avroTypes: Record<string, unknown> = {
  string: 'string',
  integer: 'long',
  number: 'double',
  boolean: 'boolean',
  'array of string': { type: 'array', items: 'string' },
};

type Field = { name: string; type: unknown; vendorName?: string };

function* leaves(fields: readonly Field[], prefix = ''): Generator<[string, unknown]> {
  for (const { name, type, vendorName } of fields) {
    const branch = Array.isArray(type) ? type[1] : type;
    const path = prefix + (vendorName ?? name);
    if (branch?.fields !== undefined) yield* leaves(branch.fields, `${path}.`);
    else if (path !== 'extra') yield [path, branch];
  }
}

it.each(feedDefinitions.map((feed) => [feed.name, feed] as const))(
  '%s: the schema has every field of the specification, with its type, and no other',
  (name, feed) => {
    const schema = Object.fromEntries(leaves(feedSchemas(feed).record.fields as Field[]));
    const expected = Object.fromEntries(
      Object.entries(specification[name]!).map(([path, type]) => [path, avroTypes[type]]),
    );
    expect(schema).toEqual(expected);
  },
);
