import { echoedToken } from '../../../src/secrets/echoed-token';

const token = 'k3y+of/s0me~"length';
const mime = (text: string, width: number) =>
  Buffer.from(text)
    .toString('base64')
    .replace(new RegExp(`.{${width}}`, 'g'), '$&\r\n');

it.each([
  ['in a link', JSON.stringify({ next: `/x?page=1&token=${encodeURIComponent(token)}` })],
  ['as it is', JSON.stringify({ token })],
  ['in base64', JSON.stringify({ login: Buffer.from(`me:${token}`).toString('base64') })],
  ['in base64 for addresses', JSON.stringify({ login: Buffer.from(`you:${token}`).toString('base64url') })],
  ['in HTML', JSON.stringify({ link: token.replace('/', '&#47;').replace('"', '&quot;') })],
  ['that is broken into lines', JSON.stringify({ token: token.replace('me', 'm\r\n e') })],
  ['in base64 broken into lines', JSON.stringify({ login: mime(`me:${token}`, 16) })],
  ['in base64 broken elsewhere', JSON.stringify({ login: mime(`you:${token}`, 23) })],
])('takes a token out of a page %s, which stays JSON', (_, text) => {
  const echoed = echoedToken([token]);
  const clean = echoed.remove(text);
  expect(echoed.isIn(Buffer.from(text))).toBe(true);
  expect(Object.values(JSON.parse(clean) as object).join()).toContain('[redacted]');
  expect(clean).not.toMatch(/k3y|length|azN5/);
});

it('takes out a token of letters and digits that is broken anywhere', () => {
  const plain = '9f86d081884c7d659a2feaa0c55ad015';
  const echoed = echoedToken([plain]);
  for (const text of [plain, Buffer.from(plain).toString('base64')]) {
    for (let at = 1; at < text.length; at++) {
      const page = JSON.stringify({ text: `before ${text.slice(0, at)}\n${text.slice(at)} after` });
      expect(echoed.isIn(Buffer.from(page))).toBe(true);
      expect(JSON.parse(echoed.remove(page))).toEqual({
        text: expect.stringMatching(/^before .?\[redacted\]\n?.{0,2} after$/),
      });
    }
  }
});

it('leaves pages alone that do not hold it, parameters of others too, and all pages where it could stand by chance', () => {
  const page = '{"link":"https://host/?token=of-another-service","text":"length"}';
  expect(echoedToken([token]).remove(page)).toBe(page);
  expect(echoedToken(['length']).remove(page)).toBe(page);
  expect(echoedToken(['length']).isIn(Buffer.from(page))).toBe(false);
  expect(echoedToken([token]).isIn(Buffer.from(page.replace('length', 'long')))).toBe(false);
});
