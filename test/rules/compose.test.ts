import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { CONFIG_VARIABLE } from '../../src/config/files/read-config-file';
import { settings } from '../../src/config/settings';
import { versions } from '../../tools/servers/artefacts';
import { root } from '../support/build';
import { composeFile, withoutVariable } from '../support/compose-file';

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const { services, secrets } = composeFile();
const { kafka, registry, simulator, prometheus } = services;
const publishers = [services['publisher-1'], services['publisher-2']];
const environment = publishers[0]!.environment!;
const port = environment[settings.httpPort.env];

describe('docker-compose.yml', () => {
  it('has the versions that the tests run with', () => {
    const [, promtool] = /prometheus\/prometheus v0\.(\d+\.\d+)/.exec(read('test/outside/promtool/go.mod'))!;
    expect([kafka.image, registry.image, prometheus.image]).toEqual([
      `apache/kafka:${versions.kafka}`,
      `apicurio/apicurio-registry-mem:${versions.registry}`,
      `prom/prometheus:v${promtool!.replace(/^(\d)(\d+)/, '$1.$2')}`,
    ]);
  });

  it('sets nothing but settings, and passes on those of the same name', () => {
    const known = [CONFIG_VARIABLE, ...Object.values(settings).map(({ env }) => env as string)];
    expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
    for (const [name, value] of Object.entries(environment)) {
      const [, passed = name] = /^\$\{(\w+):-/.exec(String(value)) ?? [];
      expect(passed).toBe(name);
    }
  });

  it('gives the publishers the folder of the file that HIGHWATER_CONFIG names', () => {
    const [folder, inContainer, mode] = publishers[0]!.volumes![0]!.split(':');
    expect([path.dirname(String(environment[CONFIG_VARIABLE])), 'ro']).toEqual([inContainer, mode]);
    expect(existsSync(path.join(root, folder!, 'highwater.yaml'))).toBe(true);
  });

  it('has two publishers that differ in name and port alone', () => {
    expect(publishers.map(({ hostname }) => hostname)).toEqual(['publisher-1', 'publisher-2']);
    expect(publishers.map(({ ports }) => ports)).toEqual([
      [`127.0.0.1:9464:${port}`],
      [`127.0.0.1:9465:${port}`],
    ]);
    const common = publishers.map(({ hostname: _, ports: __, ...rest }) => rest);
    expect(common[0]).toEqual(common[1]);
  });

  it('gives secrets by file, none in the environment', () => {
    const secret = Object.values(settings).filter((one) => one.secret);
    expect(secret.filter(({ env }) => Object.hasOwn(environment, env))).toStrictEqual([]);
    for (const [key, name] of [
      ['apiTokenFile', 'api-token'],
      ['httpTokenFile', 'http-token'],
    ] as const) {
      const { env } = settings[key];
      expect(environment[env]).toBe(`/run/secrets/${name}`);
      expect(publishers[0]!.secrets).toContain(name);
      expect(secrets[name]!.file).toBe(`\${${env}:-./deploy/compose/${name}}`);
      expect(existsSync(path.join(root, withoutVariable(secrets[name]!.file)))).toBe(true);
    }
  });

  it('publishes ports on this machine alone, and leaves our programs nothing to write or gain', () => {
    for (const { ports = [] } of Object.values(services)) {
      for (const one of ports) expect(one).toMatch(/^127\.0\.0\.1:/);
    }
    for (const one of [simulator, ...publishers]) {
      expect([one.read_only, one.cap_drop, one.security_opt]).toEqual([
        true,
        ['ALL'],
        ['no-new-privileges:true'],
      ]);
    }
  });

  it('has the publishers look where the others listen', () => {
    const advertised = String(kafka.environment!.KAFKA_ADVERTISED_LISTENERS);
    expect(advertised).toContain(`INSIDE://${environment.KAFKA_BROKERS}`);
    expect(kafka.ports).toEqual([advertised.replace(/.*OUTSIDE:\/\/(.*):(\d+)/, '$1:$2:$2')]);
    const { command } = simulator;
    expect(environment.HIGHWATER_API_URL).toContain(
      `http://simulator:${command![command!.indexOf('--port') + 1]}}`,
    );
    expect(command).toContain('0.0.0.0');
    expect(environment.HIGHWATER_HTTP_HOST).toBe('0.0.0.0');
  });

  it('has Prometheus ask both publishers, with their token and our alerts', () => {
    const asked = parse(read('deploy/compose/prometheus.yml')) as {
      readonly rule_files: readonly string[];
      readonly scrape_configs: readonly {
        readonly authorization: { readonly credentials_file: string };
        readonly static_configs: readonly { readonly targets: readonly string[] }[];
      }[];
    };
    const [scrape] = asked.scrape_configs;
    expect(scrape!.static_configs[0]!.targets).toEqual([`publisher-1:${port}`, `publisher-2:${port}`]);
    expect(scrape!.authorization.credentials_file).toBe(environment.HIGHWATER_HTTP_TOKEN_FILE);
    expect(prometheus.secrets).toEqual(['http-token']);
    expect(asked.rule_files).toEqual(['alerts.yaml']);
    expect(prometheus.volumes).toContain('./ops/alerts.yaml:/etc/prometheus/alerts.yaml:ro');
    expect(prometheus.profiles).toEqual(['metrics']);
  });

  it('waits for health alone where there is a check of it', () => {
    for (const { depends_on: needs = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(needs)) {
        expect(Object.keys(services)).toContain(name);
        const { healthcheck } = services[name as keyof typeof services];
        if (condition === 'service_healthy') expect(healthcheck).toBeDefined();
      }
    }
    expect(Object.values(services).filter(({ healthcheck }) => healthcheck === undefined)).toStrictEqual([]);
  });

  it('names the variables that it passes on', () => {
    const comment = read('docker-compose.yml').split('\nname:')[0];
    for (const name of ['HIGHWATER_API_URL', 'HIGHWATER_API_TOKEN_FILE', 'HIGHWATER_HTTP_TOKEN_FILE'])
      expect(comment).toContain(name);
  });
});
