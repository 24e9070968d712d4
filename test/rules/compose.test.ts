import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { settings } from '../../src/config/settings';
import { versions } from '../../tools/servers/artefacts';

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: unknown;
}

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const { services } = parse(read('docker-compose.yml')) as { services: Record<string, Service> };
const { kafka, registry, simulator, publisher } = services as Record<string, Service> & {
  readonly [Name in 'kafka' | 'registry' | 'simulator' | 'publisher']: Service;
};

describe('docker-compose.yml', () => {
  it('has the versions that the tests run with', () => {
    expect([kafka.image, registry.image]).toEqual([
      `apache/kafka:${versions.kafka}`,
      `apicurio/apicurio-registry-mem:${versions.registry}`,
    ]);
  });

  it('sets nothing but settings, and passes on those of the same name', () => {
    const known = Object.values(settings).map(({ env }) => env as string);
    const environment = publisher.environment!;
    expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
    for (const [name, value] of Object.entries(environment)) {
      const [, passed = name] = /^\$\{(\w+):-/.exec(String(value)) ?? [];
      expect(passed).toBe(name);
    }
  });

  it('has the publisher look where the others listen', () => {
    const advertised = String(kafka.environment!.KAFKA_ADVERTISED_LISTENERS);
    expect(advertised).toContain(`INSIDE://${publisher.environment!.KAFKA_BROKERS}`);
    expect(kafka.ports).toEqual([advertised.replace(/.*OUTSIDE:\/\/(.*):(\d+)/, '$1:$2:$2')]);
    const { command } = simulator;
    expect(publisher.environment!.HIGHWATER_API_URL).toContain(
      `http://simulator:${command![command!.indexOf('--port') + 1]}}`,
    );
    expect(command).toContain('0.0.0.0');
  });

  it('waits for health alone where there is a check of it', () => {
    for (const { depends_on: needs = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(needs)) {
        expect(Object.keys(services)).toContain(name);
        if (condition === 'service_healthy') expect(services[name]!.healthcheck).toBeDefined();
      }
    }
    expect(Object.values(services).filter(({ healthcheck }) => healthcheck === undefined)).toEqual([]);
  });

  it('names the variables that it passes on', () => {
    const comment = read('docker-compose.yml').split('\nname:')[0];
    for (const name of ['HIGHWATER_API_URL', 'HIGHWATER_API_TOKEN']) expect(comment).toContain(name);
  });
});
