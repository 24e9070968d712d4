import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { authority } from '../support/certificates';
import { commandLine, nodePrograms } from '../support/cli';
import { askDoctor } from '../support/doctor';
import { endsWithTest } from '../support/ends';
import { sendJson } from '../support/http-server';
import { kafkaWorld } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { replaceFile, tempFolder } from '../support/temp-folder';
import { clientId, startTokenServer, type TokenServer } from '../support/token-server';

/** A real registry behind TLS that takes the tokens of a token server, as Apicurio with Keycloak does. */

const cli = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const kafka = kafkaWorld();
const api = simulatedApi({ ipos: 20 });
const secret = 'clientS3cret+/%42';

const write = (name: string, text: string) => replaceFile(folder(), name, text);

/** @returns settings of the registry behind the door */
async function startGuardedRegistry(behind: string, tokens: TokenServer): Promise<Record<string, string>> {
  const ours = await authority('ours');
  const { origin, pathname } = new URL(behind);
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!tokens.admits(request))
      return sendJson(response, { message: `who is ${request.headers.authorization}?` }, 401);
    const { method = 'GET', url = '' } = request;
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const body = method === 'GET' ? {} : { body: await text(request) };
    const answered = await fetch(`${origin}${url}`, { method, headers, ...body });
    sendJson(response, await answered.text(), answered.status);
  }
  const door = createServer(await ours.sign({ name: 'registry' }), (...given) => void answer(...given));
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  endsWithTest(() => {
    door.close();
    door.closeAllConnections();
  });
  return {
    SCHEMA_REGISTRY_URL: `https://127.0.0.1:${(door.address() as AddressInfo).port}${pathname}`,
    SCHEMA_REGISTRY_CA_FILE: write('ca.pem', ours.cert),
    SCHEMA_REGISTRY_BEARER_AUTH_ISSUER_ENDPOINT_URL: tokens.url,
    SCHEMA_REGISTRY_BEARER_AUTH_CLIENT_ID: clientId,
  };
}

const consumer = `
const { connect } = require(process.env.DIST + '/consumer');
connect().consume({ group: 'desk', topics: ['ipos'], from: 'beginning' }, ({ key }) => console.log('read', key));
`;

it('a publisher and a consumer use a registry with the tokens of a client, once its secret is right', async () => {
  const tokens = await startTokenServer(secret);
  endsWithTest(() => tokens.stop());
  const env = {
    ...kafka.env(),
    ...apiEnv(api()),
    ...(await startGuardedRegistry(kafka.registryUrl(), tokens)),
    SCHEMA_REGISTRY_BEARER_AUTH_CLIENT_SECRET_FILE: write('secret', 'S3cret-of-another'),
    HIGHWATER_APP_ID: `${kafka.prefix()}app`,
    HIGHWATER_POLL_INTERVAL: '500ms',
  };
  const options = { cwd: folder(), env };
  const refused = await askDoctor(cli, ['--feeds', 'ipos'], options);
  expect(refused.of('registry')).toMatchObject({
    ...{ state: 'failed', code: 'REGISTRY_UNAUTHORIZED' },
    found: expect.stringMatching(/invalid_client: No such client; the client is "desk:1 \+"/),
  });
  const publisher = cli(['run', '--feeds', 'ipos'], options);
  const reader = program([write('consumer.cjs', consumer)], options);
  await publisher.sees(/code=REGISTRY_UNAUTHORIZED/, 'stderr');
  write('secret', secret);
  await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
  await reader.sees(new RegExp(`read ${[...api().truth('ipos').keys()][0]}`));

  tokens.valid.clear();
  const known = await askDoctor(cli, ['--feeds', 'ipos'], options);
  expect(known.of('registry').state).toBe('ok');
  const said =
    [publisher, reader].map((one) => one.stdout() + one.stderr()).join() + refused.said + known.said;
  expect(said).not.toMatch(/S3cret|issued-/);
});
