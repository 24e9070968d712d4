import { echoedToken } from '../../../src/source/echoed-token';

const token = 'k3y+of/s0me~"length';

it.each([
  ['in a link', JSON.stringify({ next: `/x?page=1&token=${encodeURIComponent(token)}` })],
  ['as it is', JSON.stringify({ token })],
  ['in base64', JSON.stringify({ login: Buffer.from(`me:${token}`).toString('base64') })],
  ['in base64 for addresses', JSON.stringify({ login: Buffer.from(`you:${token}`).toString('base64url') })],
])('takes a token out of a page %s, which stays JSON', (_, text) => {
  const echoed = echoedToken(token);
  const clean = echoed.remove(text);
  expect(echoed.isIn(Buffer.from(text))).toBe(true);
  expect(Object.values(JSON.parse(clean) as object).join()).toContain('[redacted]');
  expect(clean).not.toMatch(/k3y|length|azN5/);
});

it('leaves pages alone that do not hold it, parameters of others too, and all pages where it could stand by chance', () => {
  const page = '{"link":"https://host/?token=of-another-service","text":"length"}';
  expect(echoedToken(token).remove(page)).toBe(page);
  expect(echoedToken('length').remove(page)).toBe(page);
  expect(echoedToken('length').isIn(Buffer.from(page))).toBe(false);
  expect(echoedToken(token).isIn(Buffer.from(page.replace('length', 'long')))).toBe(false);
});
