import { isOwnHost } from '../../../src/admin/http/server';

it.each(['127.0.0.1:9464', '127.0.0.1', '127.8.7.6:1', 'localhost:9464', 'LocalHost', '[::1]:9464', '[::1]'])(
  'answers for this machine by its own names: %s',
  (header) => {
    expect(isOwnHost(header, '127.0.0.1')).toBe(true);
  },
);

it.each([
  undefined,
  '',
  ':9464',
  'evil.example:9464',
  'localhost.evil.example',
  '127.0.0.1.evil.example:9464',
  '127.0.0.1@evil.example',
  '127.0.0.1:9464@evil.example',
  '127.0.0.1:9464/x',
  '0.0.0.0:9464',
  '10.0.0.1',
  '[::2]:9464',
  '[::1',
  '::1',
  '[::1]x:1',
  '[::1].evil.example',
])('answers for no other name: %s', (header) => {
  expect(isOwnHost(header, '127.0.0.1')).toBe(false);
});

it('answers by the name that it was told to listen on', () => {
  expect(isOwnHost('dash.internal:9464', 'Dash.Internal')).toBe(true);
  expect(isOwnHost('[FD00::1]:9464', 'fd00::1')).toBe(true);
});
