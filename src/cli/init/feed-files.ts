import { parseDocument, stringify } from 'yaml';
import type { RecordSchema } from '../../avro/schemas';
import type { Auth, Display } from '../../feeds/definition';
import { titleAmong } from '../../format/display';
import type { Examined } from './examine';

/** The findings about an endpoint, and what the user said, in the words of `highwater.yaml`. */
export interface FeedSection extends Omit<Examined, 'schema'> {
  readonly name: string;
  readonly apiUrl: string;
  readonly auth: Auth;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Its file. */
  readonly schema: string;
  readonly display: Display | null;
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
  const parameterNames = { ...(hasPages && { page }), pageSize: size, updatedSince };
  const lines: readonly (readonly [key: string, value: unknown, comment?: string])[] = [
    ['apiUrl', apiUrl],
    auth.scheme === 'none' ? ['auth', auth] : ['auth', auth, 'the token itself never stands in this file'],
    ['headers', Object.keys(headers).length > 0 ? headers : null],
    ['path', path],
    ['query', Object.keys(query).length > 0 ? query : null, 'sent with every request'],
    [
      'responseKey',
      responseKey,
      responseKey === '' ? 'the answer is the array' : 'where an answer holds its rows',
    ],
    ['idField', section.idField, 'names a record; must never be given to another one'],
    ['updatedField', section.updatedField, updatedComment(section)],
    ['updatedFormat', section.updatedField === null ? null : section.updatedFormat],
    updatedSince === null
      ? ['parameters', parameterNames, 'no filter by time was found: every poll reads everything']
      : ['parameters', parameterNames],
    ['updatedSinceFormat', section.updatedSinceFormat, 'how that filter takes a time'],
    section.pagingNotes.length === 0
      ? ['paging', paging]
      : ['paging', paging, `may leave rows out: ${section.pagingNotes.join(', ')}`],
    ['pageSize', pageSize],
    ['schema', schema],
    ['namespace', section.name, 'of the change events'],
    ['display', section.display, 'what people see of a record'],
  ];
  return lines
    .filter(([key, value]) => value !== null || key === 'updatedField')
    .map(([key, value, comment]) => {
      const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
      return `${key}: ${text}${comment === undefined ? '' : ` # ${comment.replace(/\s+/g, ' ')}`}`;
    })
    .join('\n');
}

/** Only a person knows whether such a change matters. It may also have been the second one of a second. */
function updatedComment({ silent, updatedField }: FeedSection): string {
  if (updatedField === null) return 'rows do not say it: every poll reads and compares everything';
  const must = 'must move with every change';
  if (silent === null) return must;
  return `${must}; did not move with ${silent.join(', ')}, whose changes wait for a reconcile (or ignore: [${silent.join(', ')}])`;
}

/** A guess, from the names of the fields, of the title of a record; null if the names tell nothing. */
export function guessedDisplay({ fields }: RecordSchema): Display | null {
  const texts = fields.filter(({ type }) => [type].flat().includes('string')).map(({ name }) => name);
  const title = titleAmong(texts) ?? texts.find((name) => name === 'email' || name === 'login');
  return title === undefined ? null : { title };
}
