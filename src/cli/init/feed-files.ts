import { parseDocument, stringify } from 'yaml';
import type { RecordSchema } from '../../avro/schemas';
import type { Auth, Display, PagingStyle } from '../../feeds/definition';
import { titleAmong } from '../../format/display';
import type { FeedKeys } from './infer-schema';
import type { RateLimit } from './rate-limit';

/** The findings about an endpoint, in the words of `highwater.yaml`. */
export interface FeedSection extends FeedKeys {
  readonly name: string;
  readonly apiUrl: string;
  readonly auth: Auth;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly responseKey: string;
  readonly parameters: Readonly<Record<'page' | 'pageSize' | 'updatedSince', string | null>>;
  readonly paging: PagingStyle;
  readonly pageSize: number | null;
  readonly schema: string;
  readonly display: Display | null;
  readonly rateLimit: RateLimit | null;
}

/**
 * The text of `highwater.yaml` with the feed's section in it. A file that names the feeds to run also names this one, and a new file does
 * so, because the feeds that come with highwater would ask for an API of their own. Everything else stays as it was.
 */
export function withFeed(text: string, section: FeedSection): string {
  const document = parseDocument(text === '' ? '{}' : text);
  if (text === '') {
    document.contents = document.createNode({}) as typeof document.contents;
    document.set('enabledFeeds', section.name);
    if (section.rateLimit !== null) {
      const rate = document.createNode(section.rateLimit.requestsPerSecond);
      rate.comment = ` the API says: ${section.rateLimit.said}`;
      document.set('requestsPerSecond', rate);
    }
  } else {
    const enabled: unknown = document.toJS()?.enabledFeeds ?? null;
    const names = typeof enabled === 'string' ? enabled.split(',').map((name) => name.trim()) : enabled;
    if (Array.isArray(names) && !names.includes(section.name)) {
      const all = [...names, section.name];
      document.set('enabledFeeds', typeof enabled === 'string' ? all.join(',') : all);
    }
  }
  document.setIn(['feeds', section.name], parseDocument(sectionText(section)).contents);
  return document.toString({ lineWidth: 120, flowCollectionPadding: true });
}

function sectionText(section: FeedSection): string {
  const { apiUrl, auth, headers, path, query, responseKey, parameters, paging, pageSize, schema } = section;
  const { page, pageSize: size, updatedSince } = parameters;
  const hasPages = paging.style === 'page' || paging.style === 'offset';
  const lines: [key: string, value: unknown, comment: string | null][] = [
    ['apiUrl', apiUrl, null],
    ['auth', auth, auth.scheme === 'none' ? null : 'the token itself never stands in this file'],
    ...(Object.keys(headers).length > 0 ? [['headers', headers, null] as [string, unknown, null]] : []),
    ['path', path, null],
    ...(Object.keys(query).length > 0
      ? [['query', query, 'sent with every request'] as [string, unknown, string]]
      : []),
    [
      'responseKey',
      responseKey,
      responseKey === '' ? 'the answer is the array' : 'where an answer holds its rows',
    ],
    ['idField', section.idField, 'names a record; must never be given to another one'],
    ['updatedField', section.updatedField, 'must move with every change'],
    ['updatedFormat', section.updatedFormat, null],
    [
      'parameters',
      { ...(hasPages && { page }), pageSize: size, updatedSince },
      updatedSince === null ? 'no filter by time was found: every poll reads everything' : null,
    ],
    ['paging', paging, null],
    ...(pageSize === null ? [] : [['pageSize', pageSize, null] as [string, unknown, null]]),
    ['schema', schema, null],
    ['namespace', section.name, 'of the change events'],
    ...(section.display === null
      ? []
      : [['display', section.display, 'what people see of a record'] as [string, unknown, string]]),
  ];
  return lines
    .map(([key, value, comment]) => {
      const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
      return `${key}: ${text}${comment === null ? '' : ` # ${comment}`}`;
    })
    .join('\n');
}

const usualFacts = [
  'status',
  'state',
  'stage',
  'priority',
  'type',
  'kind',
  'amount',
  'total',
  'price',
  'currency',
];

/**
 * A guess, from the names of the fields, of how a record is shown; null if the names tell nothing.
 * @param constant members that have one value in all rows that were seen: they tell nothing about a record
 */
export function guessedDisplay({ fields }: RecordSchema, constant: readonly string[]): Display | null {
  const named = fields.filter(({ type }) => ![type].flat().some((one) => typeof one === 'object'));
  const texts = named.filter(({ type }) => [type].flat().includes('string')).map(({ name }) => name);
  const title = titleAmong(texts) ?? texts.find((name) => name === 'email' || name === 'login');
  const facts = usualFacts.filter(
    (fact) => !constant.includes(fact) && named.some(({ name }) => name === fact),
  );
  if (title === undefined && facts.length === 0) return null;
  return { ...(title === undefined ? {} : { title }), ...(facts.length === 0 ? {} : { facts }) };
}
