import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config';
import { settings } from '../../src/config/settings';
import { root } from '../support/build';
import { parseDockerfile } from '../support/dockerfile';
import { tempFolder } from '../support/temp-folder';

interface Workload {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly podManagementPolicy?: string;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumes: readonly { readonly name: string }[];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

const folder = path.join(root, 'deploy', 'kubernetes');
const read = (file: string) => readFileSync(path.join(folder, file), 'utf8');
const workloads = {
  kafka: parse(read('kafka/deployment.yaml')) as Workload,
  embedded: parse(read('embedded/stateful-set.yaml')) as Workload,
};
const container = ({ spec }: Workload) => spec.template.spec.containers[0]!;
const { stages } = parseDockerfile(readFileSync(path.join(root, 'Dockerfile'), 'utf8'));
const image = (name: string) =>
  stages
    .at(-1)!
    .instructions.filter((one) => one.name === name)
    .map(({ text }) => text);
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
const secretsIn = '/run/secrets/highwater';
const temp = tempFolder();
const ownFeed = `feeds:
  listings:
    path: /listings
    responseKey: listings
    schema: listing.avsc
    parameters: { page: page, pageSize: pagesize, updatedSince: since }
`;

describe.each(['kafka', 'embedded'] as const)('deploy/kubernetes/%s', (way) => {
  const workload = workloads[way];
  const { spec } = workload.spec.template;
  const main = container(workload);

  it('has a highwater.yaml that the program takes, with secrets by files, and with a feed whose schema lies beside it', () => {
    const folderOfSecrets = path.join(temp(), 'secrets');
    mkdirSync(folderOfSecrets);
    for (const name of ['api-token', 'http-token'])
      writeFileSync(path.join(folderOfSecrets, name), `${name}-1a2b3c\n`);
    const text = read(`${way}/highwater.yaml`);
    const mounted = path.join(temp(), 'config');
    mkdirSync(mounted);
    cpSync(path.join(root, 'schemas', 'ipo.avsc'), path.join(mounted, 'listing.avsc'));
    const file = path.join(mounted, 'highwater.yaml');
    writeFileSync(file, `${text.replaceAll(secretsIn, folderOfSecrets)}${ownFeed}`);
    const env = { ...Object.fromEntries(image('ENV').map((one) => one.split('='))), HIGHWATER_CONFIG: file };
    const config = loadConfig({ flags: {}, env, cwd: temp() });
    expect(config.feeds.map(({ name }) => name)).toContain('listings');
    expect(config.api.access.get('ipos')!.token).toBe('api-token-1a2b3c');
    expect(config.http).toEqual({ host: '0.0.0.0', port: 9464, token: 'http-token-1a2b3c' });
    expect(config.kafka === null).toBe(way === 'embedded');
    if (way === 'embedded') expect(config.dataDir).toBe('/highwater/data');
    const secret = Object.entries(settings).filter(([, one]) => one.secret);
    expect(secret.filter(([key]) => key in parse(text))).toStrictEqual([]);
  });

  it('mounts that file where its variable says, and the secrets where it names them', () => {
    const mounts = Object.fromEntries(main.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
    expect(mounts).toMatchObject({ config: '/highwater/config', secrets: secretsIn });
    // Images go into the data folder, unless another one is named.
    expect(Object.values(mounts)).toContain('/highwater/data');
    expect(main.env).toEqual([{ name: 'HIGHWATER_CONFIG', value: `${mounts.config}/highwater.yaml` }]);
    expect(spec.volumes.map(({ name }) => name)).toEqual(
      expect.arrayContaining(Object.keys(mounts).filter((name) => name !== 'data')),
    );
    expect(main.args).toBeUndefined();
  });

  it('asks for health where the program answers', () => {
    const { ports, startupProbe, livenessProbe, readinessProbe } = main;
    expect(ports).toEqual([{ name: 'http', containerPort: Number(image('EXPOSE')[0]), protocol: 'TCP' }]);
    const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    expect(asked).toEqual([
      { path: '/livez', port: 'http' },
      { path: '/livez', port: 'http' },
      { path: '/readyz', port: 'http' },
    ]);
  });

  it('is the user of the image, and the version of the package', () => {
    const [uid, gid] = image('USER')[0]!.split(':').map(Number);
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: uid, runAsGroup: gid });
    const { images } = parse(read(`${way}/kustomization.yaml`)) as {
      readonly images: readonly { readonly name: string; readonly newTag: string }[];
    };
    expect(images[0]).toMatchObject({ name: main.image, newTag: version });
    expect(workload.spec.template.metadata.labels['app.kubernetes.io/version']).toBe(version);
  });
});

describe('deploy/kubernetes', () => {
  it('has both ways alike but for where they write', () => {
    const own = ({ volumeMounts: _, ...rest }: Container) => rest;
    expect(own(container(workloads.embedded))).toEqual(own(container(workloads.kafka)));
    expect(workloads.embedded.spec.replicas).toBe(1);
  });

  it('rolls settings out to a pod that is not ready', () =>
    expect(workloads.embedded.spec.podManagementPolicy).toBe('Parallel'));

  it('gives each namespace a job of its own in Prometheus: `<namespace>/highwater`, as every pod has the same labels', () => {
    const { spec } = parse(read('monitoring/pod-monitor.yaml')) as { readonly spec: object };
    expect(spec).not.toHaveProperty('jobLabel');
    expect(spec).not.toHaveProperty('namespaceSelector');
  });

  it('has the alerts of ops/alerts.yaml (UPDATE_DOCS=1 writes them)', () => {
    const { groups } = parse(readFileSync(path.join(root, 'ops', 'alerts.yaml'), 'utf8'));
    const rule = {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'highwater', labels: { 'app.kubernetes.io/name': 'highwater' } },
      spec: { groups },
    };
    const made = `# Made from ops/alerts.yaml, which has the reasons.\n${stringify(rule, { lineWidth: 120 })}`;
    const file = path.join(root, 'deploy', 'kubernetes', 'monitoring', 'prometheus-rule.yaml');
    if (process.env.UPDATE_DOCS === '1') writeFileSync(file, made);
    expect(readFileSync(file, 'utf8')).toBe(made);
  });
});
