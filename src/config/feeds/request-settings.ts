import { z } from 'zod';
import type { Auth, FeedDefinition, PagingStyle } from '../../feeds/definition';
import { tokenParameter, usualAuth } from '../../source/api-access';
import { command, httpUrl, matching, oneOf, text, wholeNumber, yesOrNo } from '../value-types';

/** Tokens of HTTP: the form of a header's name. */
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Set by highwater or by HTTP itself. `Accept` may be replaced: vendors have media types of their own. Some ask for a name in `User-Agent`. */
const ownHeaders =
  /^(accept-encoding|cache-control|host|connection|content-length|transfer-encoding|te|upgrade|expect|proxy-.*)$/i;
/** Headers that carry secrets by their names. */
export const secretHeaders =
  /authorization|cookie|token|secret|password|(api|access|auth|subscription)[-_]?key/i;
/** Query parameters that do. A `token_address` is none: some APIs are about tokens. */
export const secretParameters =
  /^(token|sig|signature|x-[a-z]+-signature|.*(secret|password|(api|access|auth|subscription)[-_]?(key|token)))$/i;

const variable = (what: string) =>
  matching(/^[A-Za-z_][A-Za-z0-9_]*$/, `the name of a variable that holds the ${what}`).optional();
const file = (what: string) => text(`the path of a file that holds the ${what}`).optional();

const where = {
  tokenEnv: variable('token'),
  tokenFile: file('token'),
  tokenCommand: command().optional(),
};

const parametersText = 'names of parameters with their values, without secrets';

const clientCredentials = z.strictObject({
  scheme: z.literal('oauth2'),
  tokenUrl: httpUrl(),
  clientId: text('the id of the client'),
  clientSecretEnv: variable('client secret'),
  clientSecretFile: file('client secret'),
  clientSecretCommand: command().optional(),
  scope: text('the scope of the token, such as read:orders').optional(),
  audience: text('the audience of the token, such as https://api.example.com').optional(),
  parameters: z
    .record(z.string(), text(), { error: parametersText })
    .refine((parameters) => !Object.keys(parameters).some((name) => secretHeaders.test(name)), {
      error: parametersText,
    })
    .default({}),
  clientAuth: oneOf(['basic', 'body']).default('basic'),
});

export const auth = z.discriminatedUnion(
  'scheme',
  [
    z.strictObject({
      scheme: z.literal('query'),
      name: text('the name of a query parameter').default(usualAuth.name),
      ...where,
    }),
    z.strictObject({ scheme: z.literal('bearer'), ...where }),
    z.strictObject({
      scheme: z.literal('basic'),
      user: matching(/^[^:\p{Cc}]+$/u, 'the name of a user, without colon')
        .nullable()
        .default(null),
      ...where,
    }),
    z.strictObject({
      scheme: z.literal('header'),
      name: matching(headerName, 'the name of a header, such as X-Api-Key').refine(
        (name) => !ownHeaders.test(name),
        { error: 'the name of a header that highwater does not set itself, such as X-Api-Key' },
      ),
      ...where,
    }),
    clientCredentials.refine(
      ({ clientSecretEnv, clientSecretFile, clientSecretCommand }) =>
        clientSecretEnv ?? clientSecretFile ?? clientSecretCommand,
      { error: 'clientSecretEnv (a variable that holds it), clientSecretFile or clientSecretCommand' },
    ),
    z.strictObject({ scheme: z.literal('none') }),
  ],
  { error: 'a scheme: query, bearer, basic, header, oauth2 or none' },
) satisfies z.ZodType<Auth>;

const path = (example = 'meta.next') => text(`a dotted path in the response, such as ${example}`);

const counted = {
  first: wholeNumber(0, 1)
    .transform((first) => first as 0 | 1)
    .optional(),
  hasMore: path('has_more').optional(),
  total: path('meta.total').optional(),
};

export const paging = z.discriminatedUnion(
  'style',
  [
    z.strictObject({ style: z.literal('page'), ...counted }),
    z.strictObject({ style: z.literal('offset'), ...counted }),
    z.strictObject({
      style: z.literal('cursor'),
      parameter: text('the query parameter that takes the cursor'),
      start: z.string({ error: 'the cursor of the first page, such as *' }).optional(),
      from: path().optional(),
      lastRow: text('a dotted path in a row, such as id').optional(),
      hasMore: path('has_more').optional(),
    }),
    z.strictObject({
      style: z.literal('link'),
      from: path().nullable().default(null),
      followPath: yesOrNo('true or false').optional(),
    }),
    z.strictObject({ style: z.literal('none') }),
  ],
  { error: 'a style: page, offset, cursor, link or none' },
) satisfies z.ZodType<PagingStyle>;

const headerValue = 'printable characters of ASCII, without line ends';
const printable = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

export const headers = z.record(
  z.string(),
  z.string({ error: headerValue }).regex(printable, { error: headerValue }),
  {
    error: 'names of headers with their values',
  },
);

type Add = (path: readonly PropertyKey[], problem: string) => void;

/** Whether address, token, headers and paging of a feed go together. No value is shown, since it may be a secret. */
export function checkRequests(feed: FeedDefinition, add: Add): void {
  checkHeaders(feed, add);
  checkPaging(feed, add);
  checkBody(feed, add);
  const parameter = tokenParameter(feed.auth ?? usualAuth);
  for (const name of Object.keys(feed.query))
    if (name === parameter || secretParameters.test(name))
      add(
        ['query', name],
        'carries a secret, which must not stand in the file, expected it in auth (scheme query, with tokenEnv, tokenFile or tokenCommand)',
      );
  if (parameter === null) return;
  const taken = `is "${parameter}", which carries the token, expected another name`;
  for (const [role, name] of Object.entries(feed.parameters))
    if (name === parameter) add(['parameters', role], taken);
  if (feed.paging.style === 'cursor' && feed.paging.parameter === parameter)
    add(['paging', 'parameter'], taken);
}

function checkHeaders({ headers, auth }: FeedDefinition, add: Add): void {
  for (const name of Object.keys(headers)) {
    const at = ['headers', name];
    const isCarrier = auth?.scheme === 'header' && auth.name.toLowerCase() === name.toLowerCase();
    if (!headerName.test(name)) add(at, 'is not the name of a header');
    else if (ownHeaders.test(name)) add(at, 'is set by highwater itself, expected another header');
    else if (isCarrier || secretHeaders.test(name))
      add(
        at,
        'carries a secret, which must not stand in the file, expected it in auth (scheme bearer, basic or header, with tokenEnv, tokenFile or tokenCommand)',
      );
  }
}

/** @param feed whose parameters are paths into its body, if it has one */
function checkBody({ method, body, parameters, paging }: FeedDefinition, add: Add): void {
  if (body === undefined) return;
  if (method !== 'POST') add(['body'], 'needs `method: POST`, since a GET has no body');
  const paths: [PropertyKey[], string | null | undefined][] = Object.entries(parameters).map(
    ([role, path]) => [['parameters', role], path],
  );
  if (paging.style === 'cursor') paths.push([['paging', 'parameter'], paging.parameter]);
  for (const [at, path] of paths) {
    let within: unknown = body;
    for (const name of path?.split('.') ?? []) {
      if (within === undefined) break;
      if (typeof within !== 'object' || within === null) {
        add(at, `is a path through a value of the body that is no object`);
        break;
      }
      within = (within as Readonly<Record<string, unknown>>)[name];
    }
  }
}

function checkPaging({ paging, parameters, responseKey, updatedField }: FeedDefinition, add: Add): void {
  const { style } = paging;
  if ((style === 'page' || style === 'offset') && parameters.page === null)
    add(
      ['parameters', 'page'],
      `is not set, expected the query parameter that takes the ${style}, since the paging style is ${style}`,
    );
  const inResponse: Readonly<Record<string, string | null | undefined>> =
    style === 'cursor'
      ? { from: paging.from, hasMore: paging.hasMore }
      : style === 'link'
        ? { from: paging.from }
        : style === 'none'
          ? {}
          : { hasMore: paging.hasMore, total: paging.total };
  for (const [member, path] of Object.entries(inResponse))
    if (path && responseKey === '')
      add(['paging', member], 'is a place in an object, and the response is an array: responseKey is empty');
  if (style !== 'cursor') return;
  const { from, lastRow } = paging;
  if ((from === undefined) === (lastRow === undefined))
    add(
      ['paging'],
      `${from === undefined ? 'lacks' : 'has both'} from (a path in the response) and lastRow (a path in the last row), expected one of them`,
    );
  if (lastRow !== undefined && lastRow === updatedField)
    add(
      ['paging', 'lastRow'],
      'is the time of the row, which others may share: rows of one time would be left out where two pages meet, expected a member that ' +
        'tells all rows apart, or `paging: { style: none }` and the time as parameters.updatedSince',
    );
  const role = Object.entries(parameters).find(
    ([name, value]) => name !== 'page' && value === paging.parameter,
  );
  if (role !== undefined)
    add(['paging', 'parameter'], `is the same as parameters.${role[0]}, expected another name`);
}
