import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { versions } from '../../tools/servers/artefacts';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const folder = path.join(root, 'docs', 'guides');
const pages = readdirSync(folder).filter((name) => name !== 'README.md');
const index = read('docs/guides/README.md');
const { dependencies, scripts } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

/** Versions of a pom, by property. */
function properties(pom: string): Record<string, string> {
  return Object.fromEntries(
    [...read(pom).matchAll(/<([\w.]+\.version)>([^<]+)</g)].map(([, name, value]) => [name!, value!]),
  );
}

function row(page: string): string {
  return index.split('\n').find((line) => line.includes(`](${page})`)) ?? '';
}

describe('docs/guides', () => {
  it('has every page in its table, with the command that shows it', () => {
    for (const page of pages) {
      const shown = /^Shown by: (?:`npm run ([\w:]+)`|nothing)/m.exec(read(`docs/guides/${page}`));
      expect([page, shown === null]).toEqual([page, false]);
      const [, script] = shown!;
      expect(row(page)).toContain(script === undefined ? 'not run' : `\`npm run ${script}\``);
      if (script !== undefined) expect(Object.keys(scripts!)).toContain(script);
    }
  });

  it('names the versions that are run', () => {
    const plugins = properties('test/outside/connect/plugins.pom.xml');
    const worker = properties('test/outside/connect/worker.pom.xml');
    const flink = properties('test/outside/flink/pom.xml');
    const java = properties('test/outside/java/pom.xml');
    const go = [...read('test/outside/go/go.mod').matchAll(/^\t\S+ v(\S+)$/gm)].map(
      ([, version]) => version!,
    );
    const python = /^confluent-kafka.*==(.*)$/m.exec(read('test/outside/python/requirements.txt'))![1]!;
    const of: Record<string, readonly string[]> = {
      'connect.md': [worker['kafka.version']!, plugins['debezium.version']!, plugins['apicurio.version']!],
      'flink.md': [flink['flink.version']!, flink['flink.kafka.version']!],
      'java.md': [java['kafka.version']!, java['avro.version']!],
      'python.md': [python],
      'go.md': go,
      'node.md': [
        dependencies!.kafkajs!,
        dependencies!['@kafkajs/confluent-schema-registry']!.replace('^', ''),
      ],
    };
    for (const [page, run] of Object.entries(of)) {
      for (const version of run) {
        expect(row(page)).toContain(version);
        expect(read(`docs/guides/${page}`)).toContain(version);
      }
    }
    expect(index).toContain(`Kafka ${versions.kafka} and Apicurio's registry ${versions.registry}`);
  });
});
