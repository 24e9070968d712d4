import { type Authority, authority, type Identity } from '../../support/certificates';
import { endsWithTest } from '../../support/ends';
import { sendJson, startHttpServer } from '../../support/http-server';
import { failureOf, feed, never, page, source, stopAll } from './client-fixture';

let ours: Authority;

beforeAll(async () => {
  ours = await authority('the vendor');
});
afterEach(stopAll);

/** An API whose certificate is signed by `ours`. */
async function vendor(identity: Partial<Identity> = {}): Promise<string> {
  const signed = await ours.sign({ name: 'vendor', ...identity });
  const { url, stop } = await startHttpServer(
    (_, response) => sendJson(response, { ipos: [{ id: 'a' }] }),
    signed,
  );
  endsWithTest(stop);
  return url;
}

it('reads an API whose authority is in the file of HIGHWATER_API_CA_FILE', async () => {
  const client = source(await vendor(), { ca: ours.cert });
  expect((await client.fetchPage(feed, page, never)).rows).toEqual([{ id: 'a' }]);
});

it.each([
  ['of an unknown authority', {}, false, /is not trusted \(UNABLE_TO_\w+: /],
  ['that has expired', { expired: true }, true, /is not trusted \(CERT_HAS_EXPIRED: /],
  ['of another host', { host: 'api.example' }, true, /is not trusted \(ERR_TLS_CERT_ALTNAME_INVALID: /],
])('names a certificate %s, and does not ask again at once', async (_, identity, isTrusted, says) => {
  const client = source(await vendor(identity), isTrusted ? { ca: ours.cert } : {});
  const error = await failureOf(client.fetchPage(feed, page, never));
  expect(error).toMatchObject({ code: 'SOURCE_CERTIFICATE', message: expect.stringMatching(says) });
  expect(error.remedy).toContain('HIGHWATER_API_CA_FILE');
  expect(client.lines).toStrictEqual([]);
});
