import { apiRecordRules } from './api-records';

/**
 * The three records by the specification, written a second time, because the judge must not learn them from the publisher. Sources:
 * `market-data-api.md` section 2 for names and types, DESIGN section 3 for what is published of them.
 */
export type Kind = 'text' | 'decimal' | 'integer' | 'number' | 'boolean' | 'texts';
export type Members = { readonly [vendorName: string]: Kind | Members };

export interface RecordRules {
  /** How the vendor names and writes the two members that every record has. Default: as the mission's API. */
  readonly named?: NamedMembers;
  readonly members: Members;
  /** `""` is unknown. */
  readonly emptyIsUnknown: boolean;
  /** 0 is unknown. */
  readonly zeroIsUnknown: readonly string[];
  /** 0 is unknown while the other member is. */
  readonly zeroIsUnknownWithout: Readonly<Record<string, string>>;
}

export interface NamedMembers {
  readonly id: string;
  readonly updated: string;
  readonly format: 'seconds' | 'milliseconds' | 'iso8601';
}

export function namedMembers(feed: string): NamedMembers {
  return recordRules[feed]?.named ?? { id: 'id', updated: 'updated', format: 'seconds' };
}

function all(kind: Kind, names: string): Record<string, Kind> {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]));
}

function accuracy(): Members {
  const members: Record<string, Kind> = {};
  for (const period of ['1m', '3m', '9m', '1y', '2y', '3y'])
    for (const name of ['average_return', 'smart_score', 'stdev', 'success_rate'])
      members[`${period}_${name}`] = 'decimal';
  for (const period of ['9m', '1y', '2y', '3y']) members[`${period}_loss_count`] = 'integer';
  return {
    ...members,
    ...all(
      'decimal',
      'overall_average_return overall_avg_return_percentile overall_stdev overall_success_rate',
    ),
    ...all('decimal', 'smart_score total_ratings_percentile'),
    ...all('integer', 'overall_loss_count total_ratings'),
  };
}

const given = { emptyIsUnknown: false, zeroIsUnknown: [], zeroIsUnknownWithout: {} } as const;

export const recordRules: Readonly<Record<string, RecordRules>> = {
  ...apiRecordRules,
  insights: {
    ...given,
    members: {
      ...all('text', 'action analyst_id analyst_insights date firm firm_id rating rating_id'),
      pt: 'decimal',
      security: all('text', 'cik exchange isin name symbol'),
    },
  },
  analysts: {
    ...given,
    members: {
      ...all('text', 'firm_id firm_name name_first name_last name_full'),
      ratings_accuracy: accuracy(),
    },
  },
  ipos: {
    emptyIsUnknown: true,
    zeroIsUnknown: [
      'sic',
      'last_yr_income_year',
      'last_yr_revenue_year',
      'offering_shares',
      'offering_value',
      'market_cap_at_offer',
      'shares_outstanding',
      'ord_shares_out_after_offer',
    ],
    zeroIsUnknownWithout: { last_yr_income: 'last_yr_income_year', last_yr_revenue: 'last_yr_revenue_year' },
    members: {
      ...all('text', 'name ticker exchange currency date time deal_status ipo_type description notes'),
      ...all(
        'text',
        'initial_filing_date pricing_date insider_lockup_date underwriter_quiet_expiration_date',
      ),
      ...all('text', 'state_location sec_accession_number sec_filing_url'),
      ...all('boolean', 'pricing_date_verified open_date_verified spac_converted_to_target'),
      ...all('integer', 'insider_lockup_days underwriter_quiet_expiration_days offering_shares'),
      ...all('integer', 'offering_shares_ord_adr shares_outstanding ord_shares_out_after_offer'),
      ...all('integer', 'last_yr_income_year last_yr_revenue_year sic'),
      ...all('number', 'offering_value market_cap_at_offer last_yr_income last_yr_revenue'),
      ...all('decimal', 'price_min price_max price_open price_public_offering'),
      ...all('texts', 'lead_underwriters other_underwriters'),
    },
  },
};
