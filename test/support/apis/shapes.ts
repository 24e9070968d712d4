import type { Random } from '../../../src/simulator/random';
import { type ApiShape, Refusal } from './api-server';
import type { Row } from './api-store';

/*
 * Public APIs and one of the mission's kind, each with the part of its list endpoint that a reader needs: how it is asked,
 * how a page is told, how times and errors are written. Taken from the vendors' public references.
 */

const word = (random: Random): string =>
  random.pick(['amber', 'birch', 'cedar', 'delta', 'ember', 'flint', 'grove', 'harbour']);
const sentence = (random: Random): string => `${word(random)} ${word(random)} ${random.int(1, 9_999)}`;
const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, -5)}Z`;
const created = (number: number): number => 1_700_000_000_000 + number * 60_000;

function wholeNumber(query: URLSearchParams, name: string, fallback: number, least = 1): number {
  const value = Number(query.get(name) ?? fallback);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Refusal(400, `${name} is no number from ${least} on`);
}

/** @throws Refusal if it is not an ISO 8601 time */
function isoTime(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null) return 0;
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : NaN;
  if (Number.isNaN(ms)) throw new Refusal(400, `${name} is no ISO 8601 time`);
  return ms;
}

/** In the shape of Zendesk's incremental ticket export: bearer token, Unix seconds, a cursor in the body. */
export const zendesk: ApiShape = {
  name: 'zendesk',
  path: '/api/v2/incremental/tickets/cursor.json',
  token: 'zendesk-token-4711',
  precisionMs: 1_000,
  longestPage: 1_000,
  content: (random) => ({
    subject: sentence(random),
    status: random.pick(['new', 'open', 'pending', 'solved']),
    priority: random.pick(['low', 'normal', 'urgent', null]),
    assignee_id: random.pick([null, 9_007_199_254, 235_323]),
    tags: [word(random), word(random)],
    via: { channel: random.pick(['web', 'email']) },
    custom_fields: [{ id: 27_642, value: word(random) }],
  }),
  row: (number, stampMs, content) => ({
    id: 35_000_000_000 + number,
    created_at: isoSeconds(created(number)),
    ...content,
    generated_timestamp: stampMs / 1000,
  }),
  keyOf: ({ id }) => String(id),
  allows: ({ authorization }) => authorization === `Bearer ${zendesk.token}`,
  ask(query) {
    const cursor = query.get('cursor') ?? '';
    if (cursor === '' && !query.has('start_time')) throw new Refusal(400, 'start_time is missing');
    return {
      sinceMs: cursor === '' ? wholeNumber(query, 'start_time', 0, 0) * 1000 : 0,
      limit: wholeNumber(query, 'per_page', 1_000),
      at: { cursor },
      by: 'updated',
    };
  },
  answer: ({ rows, cursor, isLast }) => ({
    body: { tickets: rows, after_cursor: cursor, before_cursor: null, end_of_stream: isLast },
  }),
  failure: (status, text) => ({
    error: status === 401 ? 'invalid_token' : 'InvalidValue',
    description: text,
  }),
};

/** In the shape of GitHub's list of a repository's issues: a bare array, ISO 8601, the next address in the `Link` header. */
export const github: ApiShape = {
  name: 'github',
  path: '/repos/acme/boats/issues',
  token: 'github-token-4711',
  precisionMs: 1_000,
  longestPage: 100,
  content: (random) => ({
    title: sentence(random),
    state: random.pick(['open', 'closed']),
    comments: random.int(0, 40),
    locked: random.chance(0.1),
    user: { login: word(random) },
    labels: [{ name: word(random), color: random.hex(6) }],
    body: random.pick([null, sentence(random)]),
  }),
  row: (number, stampMs, content) => ({
    id: 2_000_000_000 + number,
    number,
    created_at: isoSeconds(created(number)),
    ...content,
    updated_at: isoSeconds(stampMs),
  }),
  keyOf: ({ number }) => String(number),
  allows: ({ authorization, 'user-agent': agent }) =>
    authorization === `Bearer ${github.token}` && agent !== undefined,
  ask: (query) => ({
    sinceMs: isoTime(query, 'since'),
    limit: wholeNumber(query, 'per_page', 30),
    at: { cursor: query.get('after') ?? '' },
    by: query.get('sort') === 'updated' ? 'updated' : 'created',
    descending: query.get('direction') !== 'asc',
  }),
  answer({ rows, cursor, url }) {
    if (cursor === null) return { body: rows };
    const next = new URL(url);
    next.searchParams.set('after', cursor);
    const first = new URL(url);
    first.searchParams.delete('after');
    return { body: rows, headers: { link: `<${first}>; rel="first", <${next}>; rel="next"` } };
  },
  failure: (status, message) => ({
    message,
    documentation_url: 'https://example.com/rest',
    status: `${status}`,
  }),
};

/** In the shape of Brevo's contacts: a key in a header, offset and limit, ISO 8601 with ms, in the order of making. */
export const brevo: ApiShape = {
  name: 'brevo',
  path: '/v3/contacts',
  token: 'brevo-key-4711',
  precisionMs: 1,
  longestPage: 1_000,
  content: (random) => ({
    email: `${word(random)}${random.int(1, 9_999)}@example.com`,
    emailBlacklisted: random.chance(0.2),
    smsBlacklisted: random.chance(0.2),
    listIds: [random.int(1, 99)],
    attributes: {
      FIRSTNAME: word(random),
      LASTNAME: word(random),
      SMS: `49170${random.int(1_000_000, 9_999_999)}`,
    },
  }),
  row: (number, stampMs, content) => ({
    id: number,
    createdAt: new Date(created(number)).toISOString(),
    ...content,
    modifiedAt: new Date(stampMs).toISOString(),
  }),
  keyOf: ({ id }) => String(id),
  allows: (headers) => headers['api-key'] === brevo.token,
  ask: (query) => ({
    sinceMs: isoTime(query, 'modifiedSince'),
    limit: wholeNumber(query, 'limit', 50),
    at: { leaveOut: wholeNumber(query, 'offset', 0, 0) },
    by: 'created',
    descending: query.get('sort') !== 'asc',
  }),
  answer: ({ rows, total }) => ({ body: { contacts: rows, count: total } }),
  failure: (status, message) => ({ code: status === 401 ? 'unauthorized' : 'invalid_parameter', message }),
};

/** In the shape of ClickUp's tasks of a workspace: pages from 0 of a length that nobody asks for, ms written as text. */
export const clickup: ApiShape = {
  name: 'clickup',
  path: '/api/v2/team/9001/task',
  token: 'pk_4711_CLICKUP',
  precisionMs: 1,
  longestPage: 100,
  content: (random) => ({
    name: sentence(random),
    status: {
      status: random.pick(['to do', 'in progress', 'complete']),
      type: random.pick(['open', 'closed']),
    },
    priority: random.pick([null, { priority: 'high' }]),
    archived: random.chance(0.1),
    points: random.pick([null, 1, 2.5]),
    due_date: random.pick([null, String(1_800_000_000_000 + random.int(0, 99) * 86_400_000)]),
  }),
  row: (number, stampMs, content) => ({
    id: `86${number.toString(36).padStart(5, '0')}`,
    orderindex: `${number}.00000000`,
    date_created: String(created(number)),
    ...content,
    date_updated: String(stampMs),
  }),
  keyOf: ({ id }) => id as string,
  allows: ({ authorization }) => authorization === clickup.token,
  ask: (query) => ({
    sinceMs: wholeNumber(query, 'date_updated_gt', 0, 0),
    limit: clickup.longestPage,
    at: { page: wholeNumber(query, 'page', 0, 0) },
    by: query.get('order_by') === 'updated' ? 'updated' : 'created',
    descending: query.get('reverse') !== 'true',
  }),
  answer: ({ rows, isLast }) => ({ body: { tasks: rows, last_page: isLast } }),
  failure: (status, text) => ({ err: text, ECODE: status === 401 ? 'OAUTH_025' : 'INPUT_003' }),
};

/** In the shape of Personio's persons: a token server, the next address in the answer, ISO 8601, a filter without its own moment. */
export const personio: ApiShape = {
  name: 'personio',
  path: '/v2/persons',
  token: 'personio-secret-4711',
  tokenPath: '/v2/auth/token',
  precisionMs: 1,
  longestPage: 50,
  content: (random) => ({
    email: `${word(random)}${random.int(1, 9_999)}@example.com`,
    first_name: word(random),
    last_name: word(random),
    preferred_name: random.pick([null, word(random)]),
    gender: random.pick(['MALE', 'FEMALE', 'UNDEFINED']),
    status: random.pick(['ACTIVE', 'INACTIVE']),
    custom_attributes: [{ id: 'dynamic_1', value: random.pick([word(random), random.int(1, 9)]) }],
  }),
  row: (number, stampMs, content) => ({
    id: String(number),
    created_at: new Date(created(number)).toISOString(),
    ...content,
    updated_at: new Date(stampMs).toISOString(),
  }),
  keyOf: ({ id }) => id as string,
  allows: () => false,
  ask: (query) => ({
    sinceMs: isoTime(query, 'updated_at.gt'),
    limit: wholeNumber(query, 'limit', 10),
    at: { cursor: query.get('cursor') ?? '' },
    by: 'created',
  }),
  answer({ rows, cursor, url }) {
    const next = new URL(url);
    next.searchParams.set('cursor', cursor ?? '');
    const links = { self: { href: url.href }, ...(cursor !== null && { next: { href: next.href } }) };
    return { body: { _data: rows, _meta: { links } } };
  },
  failure: (_, title) => ({ errors: [{ title }] }),
};

/**
 * In the shape of Stripe's lists: the cursor is the id of the last row, `has_more` tells whether rows follow, and the newest come
 * first. The time stamp of the last update is an addition: Stripe's own objects have only `created`.
 */
export const stripe: ApiShape = {
  name: 'stripe',
  path: '/v1/customers',
  token: 'sk_test_4711',
  precisionMs: 1_000,
  longestPage: 100,
  content: (random) => ({
    name: sentence(random),
    balance: random.int(0, 99_999),
    delinquent: random.chance(0.1),
    address: { city: word(random) },
  }),
  row: (number, stampMs, content) => ({
    id: `cus_${number.toString(36).padStart(8, '0')}`,
    object: 'customer',
    created: created(number) / 1000,
    ...content,
    updated: stampMs / 1000,
  }),
  keyOf: ({ id }) => id as string,
  allows: ({ authorization }) => authorization === `Bearer ${stripe.token}`,
  ask(query) {
    const behind = query.get('starting_after');
    const limit = wholeNumber(query, 'limit', 10);
    if (limit > 100) throw new Refusal(400, 'limit is greater than 100');
    return {
      sinceMs: 0,
      limit,
      at: behind === null ? { leaveOut: 0 } : { behind },
      by: 'created',
      descending: true,
    };
  },
  answer: ({ rows, isLast }) => ({
    body: { object: 'list', url: '/v1/customers', has_more: !isLast, data: rows },
  }),
  failure: (_, message) => ({ error: { type: 'invalid_request_error', message } }),
};

interface HubspotSearch {
  readonly filterGroups: readonly { readonly filters: readonly { readonly value: unknown }[] }[];
  readonly limit: unknown;
  readonly after: unknown;
}

/** In the shape of HubSpot's search: everything is asked for by a JSON body, in which positions and times are texts. */
export const hubspot: ApiShape = {
  name: 'hubspot',
  path: '/crm/v3/objects/companies/search',
  token: 'pat-4711-hubspot',
  method: 'POST',
  precisionMs: 1,
  longestPage: 200,
  content: (random) => ({
    properties: {
      name: sentence(random),
      domain: `${word(random)}.example`,
      lifecyclestage: random.pick(['lead', 'customer', null]),
    },
    archived: false,
  }),
  row: (number, stampMs, content) => ({
    id: String(number),
    createdAt: new Date(created(number)).toISOString(),
    ...content,
    updatedAt: new Date(stampMs).toISOString(),
  }),
  keyOf: ({ id }) => id as string,
  allows: ({ authorization, 'content-type': type }) =>
    authorization === `Bearer ${hubspot.token}` && type === 'application/json',
  ask(_, body) {
    const { filterGroups, limit, after } = body as HubspotSearch;
    const since = filterGroups[0]!.filters[0]!.value;
    if (typeof since !== 'string' || typeof after !== 'string') throw new Refusal(400, 'expected texts');
    if (typeof limit !== 'number' || limit > 200) throw new Refusal(400, 'limit is no number up to 200');
    return { sinceMs: Number(since), limit, at: { leaveOut: Number(after) }, by: 'updated' };
  },
  answer: ({ rows, total }) => ({ body: { total, results: rows } }),
  failure: (_, message) => ({ status: 'error', message, category: 'VALIDATION_ERROR' }),
};

interface LinearRequest {
  readonly query: string;
  readonly variables: { readonly first: unknown; readonly after?: unknown; readonly since: unknown };
}

/** In the shape of Linear's issues: GraphQL. Errors have the status 200, and newest come first. */
export const linear: ApiShape = {
  name: 'linear',
  path: '/graphql',
  token: 'lin_api_4711',
  method: 'POST',
  precisionMs: 1,
  longestPage: 250,
  content: (random) => ({
    title: sentence(random),
    priority: random.int(0, 4),
    estimate: random.pick([null, 1, 2.5]),
    state: { name: word(random), type: random.pick(['started', 'completed']) },
    archivedAt: random.pick([null, isoSeconds(created(random.int(0, 99)))]),
  }),
  row: (number, stampMs, content) => ({
    id: `c0ffee-${number}`,
    identifier: `ENG-${number}`,
    createdAt: isoSeconds(created(number)),
    ...content,
    updatedAt: new Date(stampMs).toISOString(),
  }),
  keyOf: ({ id }) => id as string,
  allows: ({ authorization }) => authorization === linear.token,
  ask(_, body) {
    const { query, variables } = body as LinearRequest;
    const { first, after = '', since } = variables;
    if (!query.includes('issues(first: $first')) throw new Refusal(400, 'Cannot query field');
    if (typeof first !== 'number' || typeof since !== 'string' || typeof after !== 'string')
      throw new Refusal(400, 'Variable of another type');
    const descending = query.includes('orderBy: updatedAt');
    const at = { cursor: after };
    return {
      sinceMs: Date.parse(since),
      limit: first,
      at,
      by: descending ? 'updated' : 'created',
      descending,
    };
  },
  answer: ({ rows, cursor, isLast }) => ({
    // The last page has a cursor too.
    body: {
      data: { issues: { nodes: rows, pageInfo: { hasNextPage: !isLast, endCursor: cursor ?? 'end' } } },
    },
  }),
  failure: (status, message) => ({
    data: { issues: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } },
    errors: [{ message, extensions: { code: status === 429 ? 'RATELIMITED' : 'INTERNAL_SERVER_ERROR' } }],
  }),
  statusOfErrors: 200,
};

/** As the mission's feeds are asked: a token in the query, pages from 0, Unix seconds, `id` and `updated`. */
export const plain: ApiShape = {
  name: 'plain',
  path: '/api/v1/orders',
  token: 'plain-token-4711',
  precisionMs: 1_000,
  longestPage: 1_000,
  content: (random) => ({
    customer: sentence(random),
    state: random.pick(['open', 'paid', 'sent']),
    total: (random.int(1, 99_999) / 100).toFixed(2),
    items: random.int(1, 20),
  }),
  row: (number, stampMs, content): Row => ({ id: `o${number}`, ...content, updated: stampMs / 1000 }),
  keyOf: ({ id }) => id as string,
  allows: (_, query) => query.get('token') === plain.token,
  ask: (query) => ({
    sinceMs: wholeNumber(query, 'updated', 0, 0) * 1000,
    limit: wholeNumber(query, 'pagesize', 100),
    at: { page: wholeNumber(query, 'page', 0, 0) },
    by: 'updated',
  }),
  answer: ({ rows }) => ({ body: { orders: rows } }),
  failure: (_, message) => ({ ok: false, errors: [{ message }] }),
};
