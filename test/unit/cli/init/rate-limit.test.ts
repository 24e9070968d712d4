import { rateLimitIn } from '../../../../src/cli/init/endpoint';

const nowMs = 1_770_000_000_000;

it.each([
  [{ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4980', 'x-ratelimit-reset': '1770003600' }, 1],
  [{ 'x-ratelimit-limit': '100', 'x-ratelimit-reset': '1770000050000' }, 2],
  [{ 'ratelimit-limit': '40', 'ratelimit-reset': '60' }, 0.6],
  [{ 'ratelimit-limit': '100, 100;w=60', 'ratelimit-reset': '3' }, 1],
  [{ 'ratelimit-policy': '"burst";q=20;w=1,"day";q=43200;w=86400', ratelimit: '"burst";r=19;t=1' }, 0.5],
  [{ 'ratelimit-policy': '"default";q=600;w=10' }, 10],
  [{ 'x-rate-limit': '700', 'x-rate-limit-remaining': '699' }, 10],
  [{ 'x-ratelimit-limit': '700', 'x-ratelimit-reset': '0' }, 10],
  [{ 'x-ratelimit-limit': '1', 'x-ratelimit-reset': '86400' }, 0.1],
  [{ 'x-ratelimit-limit': 'unlimited' }, 10],
])('%j: %d a second', (headers, expected) => {
  expect(rateLimitIn(headers, nowMs)?.requestsPerSecond).toBe(expected);
});

it('names the headers, and says nothing without any', () => {
  const headers = { 'content-type': 'application/json', 'x-rate-limit': '700' };
  expect(rateLimitIn(headers, nowMs)?.said).toBe('x-rate-limit: 700');
  expect(rateLimitIn({ 'content-type': 'application/json' }, nowMs)).toBeNull();
});
