import { moreIn, signsOfMore } from '../../../src/source/more-rows';

const two = [{ id: 1 }, { id: 2 }];
const signs = (beside: object, path = 'rows') =>
  signsOfMore(path === 'rows' ? { rows: two, ...beside } : beside, path, false).map(
    ({ said, isSure }) => `${isSure ? 'sure' : 'maybe'} ${said}`,
  );

it.each<[object, string]>([
  [{ '@odata.nextLink': 'https://api/rows?$skiptoken=2' }, '@odata.nextLink holds an address'],
  [{ nextRecordsUrl: '/services/data/v59.0/query/01g-2' }, 'nextRecordsUrl holds an address'],
  [{ links: { next: { href: '/rows?page=2', title: 'Next page' } } }, 'links.next.href holds an address'],
  [{ _links: { next: [{ href: '/rows?page=2' }] } }, '_links.next has a link to the next page'],
  [{ link: [{ relation: 'next', url: '/rows?page=2' }] }, 'link has a link to the next page'],
  [{ next_page: 2 }, 'next_page holds a value'],
  [{ paging: { next: { after: 'NTI1' } } }, 'paging.next.after holds a value'],
  [{ offset: 'itrX/recY' }, 'offset holds a value'],
  [{ continue: '2' }, 'continue holds a value'],
  [{ metadata: { continue: 'eyJ2' } }, 'metadata.continue holds a value'],
  [{ continue: { cmcontinue: 'page|X', continue: true } }, 'continue.cmcontinue holds a value'],
  [{ metadata: { remainingItemCount: 150 } }, 'metadata.remainingItemCount: 150'],
  [{ done: false }, 'done: false'],
  [{ has_more: true }, 'has_more: true'],
  [{ pageInfo: { hasNextPage: true } }, 'pageInfo.hasNextPage: true'],
  [{ info: { more_records: true } }, 'info.more_records: true'],
  [{ last: false }, 'last: false'],
  [{ totalSize: 3 }, 'totalSize: 3'],
  [{ '@odata.count': 3 }, '@odata.count: 3'],
  [{ total: '3' }, 'total: 3'],
  [{ count: 2, meta: { pagination: { total: 3 } } }, 'meta.pagination.total: 3'],
  [{ total: { value: 3, relation: 'eq' } }, 'total.value: 3'],
  [{ meta: { last_page: 2, current_page: 1 } }, 'meta.last_page: 2'],
  [{ nbPages: 4, nbHits: 2 }, 'nbPages: 4'],
  [{ numberMatched: 3, numberReturned: 2 }, 'numberMatched: 3'],
  [{ paginator: { total: 3, perPage: 2 } }, 'paginator.total: 3'],
  [{ hasMoreElements: 'true' }, 'hasMoreElements: true'],
  [
    { additional_data: { pagination: { more_items_in_collection: true } } },
    'additional_data.pagination.more_items_in_collection: true',
  ],
  [{ endReached: false }, 'endReached: false'],
])('%j says that more rows follow', (beside, said) => {
  expect(signs(beside)).toEqual([`sure ${said}`]);
});

it.each<[object, string]>([
  [{ count: 3 }, 'count: 3'],
  [{ nbHits: 3 }, 'nbHits: 3'],
  [{ num_results: 3 }, 'num_results: 3'],
  [{ estimatedTotalHits: 3 }, 'estimatedTotalHits: 3'],
  [{ LastEvaluatedKey: 'k7' }, 'LastEvaluatedKey holds a value'],
  [{ LastEvaluatedKey: { id: { S: 'k7' } } }, 'LastEvaluatedKey holds a value'],
  [{ scrollId: 'DXF1' }, 'scrollId holds a value'],
  [{ nextLot: 'x7' }, 'nextLot holds a value'],
  [{ next_steps_url: 'https://docs/steps' }, 'next_steps_url holds an address'],
  [{ complete: false }, 'complete: false'],
  [{ revenue: { total: 3 } }, 'revenue.total: 3'],
  [{ comments: { hasMore: true } }, 'comments.hasMore: true'],
])('%j may say it', (beside, said) => {
  expect(signs(beside)).toEqual([`maybe ${said}`]);
});

it.each<[object]>([
  [{ next: null, next_page: '', nextCursor: '0', links: { next: {} }, nextPages: [] }],
  [{ has_more: false, scrollId: 'DXF1', count: 3 }],
  [{ done: true, totalSize: 2 }],
  [{ total: 2, cursor: 'x' }],
  [{ nbHits: 2, nbPages: 1, page: 0, scroll_id: 'x' }],
  [{ meta: { pageCount: 1 }, numberMatched: 2, numberReturned: 2, LastEvaluatedKey: {} }],
  [{ page_count: 2, num_results: 2, estimatedTotal: 2, remaining: 4999, size: 100 }],
  [{ hasMoreElements: 'false', endReached: true, additional_data: { more_items_in_collection: false } }],
  [{ '@odata.context': 'https://api/$metadata#rows', self: '/rows', totalAmount: 900, subtotal: 7 }],
  [{ nextSyncToken: 'x', '@odata.deltaLink': '/rows?delta=1', nextRun: '2026-01-31T00:00:00Z' }],
  [{ page: 1, pages: 1, limit: 100 }],
  [{ offset: 7, continue: true, limit: 100 }],
  [{ offset: '0', remainingItemCount: 0, rateLimit: { remaining: 4999 } }],
  [{ offset: '100', offset_time: 'x' }],
])('%j says nothing of more rows', (beside) => {
  expect(signs(beside)).toEqual([]);
});

it('only members around the rows are surely about them', () => {
  const list = (hasNextPage: boolean) => ({ nodes: two, pageInfo: { hasNextPage, endCursor: 'x' } });
  const answer = { data: { orders: list(true), users: list(true) } };
  expect(signs(answer, 'data.orders.nodes')).toEqual([
    'maybe data.orders.pageInfo.endCursor holds a value',
    'maybe data.users.pageInfo.endCursor holds a value',
    'sure data.orders.pageInfo.hasNextPage: true',
    'maybe data.users.pageInfo.hasNextPage: true',
  ]);
  const ended = { data: { orders: list(false), users: list(true) } };
  expect(signs(ended, 'data.orders.nodes')).toEqual([]);
});

it('an array has nothing beside it but the header', () => {
  expect(signsOfMore(two, '', false)).toEqual([]);
  expect(signsOfMore(two, '', true)).toEqual([
    { path: null, said: 'the header Link names a next page', isSure: true },
  ]);
});

it.each<[string, string]>([
  ['x-next-page', '2'],
  ['x-next-cursor', 'abc'],
  ['x-ms-continuation', 'abc'],
  ['x-total-count', '3'],
  ['x-wp-totalpages', '2'],
  ['content-range', 'rows 0-1/3'],
  ['next-range', ']7..; max=2'],
  ['x-has-more', 'true'],
  ['x-pagination', '{"TotalCount":3,"PageSize":2}'],
  ['x-pagination', '{"Page":1,"HasNext":true}'],
])('the header %s says that more rows follow', (name, value) => {
  expect(signsOfMore(two, '', false, { [name]: value })).toEqual([
    expect.objectContaining({ isSure: true, said: expect.stringContaining(`the header ${name}`) }),
  ]);
});

it.each<[Readonly<Record<string, string>>]>([
  [{ 'x-next-page': '', 'x-total': '2', 'x-wp-totalpages': '1', 'content-range': 'rows 0-1/2' }],
  [{ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99', 'x-page': '1', 'content-length': '9000' }],
  [{ 'x-has-more': 'false', 'x-more-info': 'true', 'x-page-count': '2', 'accept-ranges': 'bytes' }],
  [{ 'x-pagination': '{"TotalCount":2,"PageSize":100,"CurrentPage":1,"TotalPages":1,"HasNext":false}' }],
  [{ 'x-pagination': '{cut', 'x-pagination-limits': '{"HasNext":null}', 'x-limits': '{"total":9}' }],
  [{ 'retry-after': '30', 'x-expires-after': 'Mon, 30 Nov 2026 00:00:00 GMT' }],
  [{ 'x-total-time': '250', 'x-request-id': '7', 'content-range': '0-1/*', etag: 'next' }],
])('the headers %j say nothing of more rows', (headers) => {
  expect(signsOfMore(two, '', false, headers)).toEqual([]);
});

it('a header that says no does not hide a total', () => {
  const signs = signsOfMore({ items: two, total: 500 }, 'items', false, { 'x-response-truncated': 'false' });
  expect(signs.map(({ said }) => said)).toEqual(['total: 500']);
});

it('names the flag that is true while more rows follow', () => {
  expect(moreIn({ rows: two, has_more: true }, 'rows')).toBe('has_more');
  expect(moreIn({ rows: two, has_more: false, done: false }, 'rows')).toBeNull();
});
