import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { root } from '../support/build';
import { run } from './command';
import { schemaChecker } from './compose-file';
import { goModule, goTool } from './go-tool';
import type { Step } from './run';
import { virtualEnvironment } from './virtual-environment';

const folder = path.join(root, 'deploy', 'kubernetes');
const kustomize = {
  name: 'kustomize',
  source: 'sigs.k8s.io/kustomize/kustomize/v5',
  folder: path.join(__dirname, 'kustomize'),
};
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const versions = ['1.30', '1.37'];
const WITHIN_MS = 60_000;

/** A member that is misspelt, and one of a wrong type: each has to be seen, or the check is worth nothing. */
const mistakes: readonly (readonly [kind: string, from: string, to: string])[] = [
  ['Deployment', 'readOnlyRootFilesystem: true', 'readOnlyRootFileSystem: true'],
  ['Deployment', 'replicas: 2', 'replicas: two'],
  ['NetworkPolicy', 'podSelector:', 'podSelectors:'],
  ['PodDisruptionBudget', 'minAvailable:', 'minimumAvailable:'],
  ['PodMonitor', 'podMetricsEndpoints:', 'podMetricEndpoints:'],
  ['PrometheusRule', 'annotations:', 'annotation:'],
];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The cluster's objections to them, by the schemas of its versions and of Prometheus' operator. */
export const kubernetesManifests: Step = {
  name: `deploy/kubernetes is what Kubernetes ${versions.join(' and ')} takes, and what is misspelt is refused`,
  async run() {
    const check = await checker();
    try {
      const all = [
        ...(await manifests(path.join(folder, 'embedded'), check.folder)),
        ...(await manifests(path.join(folder, 'kafka'), check.folder, 'with the monitoring')),
      ];
      for (const one of all) {
        const refused = await check.refusal(one);
        if (refused !== null) throw new Error(`${one.kind}: ${refused}`);
      }
      for (const [kind, from, to] of mistakes) {
        const text = stringify(all.find((one) => one.kind === kind));
        const wrong = text.replace(from, to);
        if (wrong === text) throw new Error(`no ${from} in ${kind}`);
        if ((await check.refusal(parse(wrong) as Manifest)) === null)
          throw new Error(`${kind} is taken with ${to}`);
      }
    } finally {
      rmSync(check.folder, { recursive: true, force: true });
    }
  },
};

/** The manifests that `kubectl apply -k` would send. */
async function manifests(of: string, temp: string, withMonitoring?: string): Promise<Manifest[]> {
  let target = of;
  if (withMonitoring !== undefined) {
    target = temp;
    const written = { resources: [path.relative(temp, of)], components: [path.relative(temp, monitoring)] };
    writeFileSync(path.join(temp, 'kustomization.yaml'), stringify(written));
  }
  const { code, stdout, stderr } = await run(await goTool(kustomize), ['build', target], {
    env: process.env,
    withinMs: WITHIN_MS,
  });
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

const monitoring = path.join(folder, 'monitoring');

interface Checker {
  readonly folder: string;
  /** Null when it is taken. */
  refusal(manifest: Manifest): Promise<string | null>;
}

async function checker(): Promise<Checker> {
  const bin = await virtualEnvironment('deploy', path.join(__dirname, 'deploy', 'requirements.txt'));
  const definitions = path.join(
    await goModule(operator, kustomize.folder),
    'example/prometheus-operator-crd',
  );
  const own = mkdtempSync(path.join(tmpdir(), 'highwater-kubernetes-'));
  const file = path.join(own, 'manifest.yaml');

  async function refusedBy(program: string, args: readonly string[]): Promise<string | null> {
    const { code, stdout, stderr } = await run(program, args, { env: process.env, withinMs: WITHIN_MS });
    return code === 0 ? null : `${stdout}${stderr}`;
  }
  return {
    folder: own,
    async refusal(manifest) {
      writeFileSync(file, stringify(manifest));
      if (manifest.apiVersion.startsWith('monitoring.coreos.com/')) {
        const plural = `${manifest.kind.toLowerCase()}s`;
        const schema = path.join(own, `${plural}.json`);
        const definition = path.join(definitions, `monitoring.coreos.com_${plural}.yaml`);
        writeFileSync(schema, JSON.stringify(strictSchema(readFileSync(definition, 'utf8'))));
        return refusedBy(await schemaChecker(), ['--schemafile', schema, file]);
      }
      for (const version of versions) {
        const args = ['--strict', '--quiet', '--kubernetes-version', version, file];
        const refused = await refusedBy(path.join(bin, 'kubernetes-validate'), args);
        if (refused !== null) return refused;
      }
      return null;
    },
  };
}

/** The schemas of a custom resource definition. The cluster drops unknown members in silence; here they are refused. */
function strictSchema(definition: string): unknown {
  const { spec } = parse(definition) as {
    readonly spec: {
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: object } }[];
    };
  };
  const schema = spec.versions[0]!.schema.openAPIV3Schema;
  const closed = (node: unknown): unknown => {
    // A flag of Go's expressions, which JSON Schema does not have.
    if (typeof node === 'string') return node.replace('(?i)', '');
    if (Array.isArray(node)) return node.map(closed);
    if (typeof node !== 'object' || node === null) return node;
    const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
    const isOpen = !('properties' in node) || 'x-kubernetes-preserve-unknown-fields' in node;
    return isOpen || 'additionalProperties' in node ? inner : { ...inner, additionalProperties: false };
  };
  const { properties, ...rest } = closed(schema) as { readonly properties: object };
  return { ...rest, properties: { ...properties, metadata: { type: 'object' } } };
}
