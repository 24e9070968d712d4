/**
 * Which room may import which: cli → runtime → pipeline → ports, feeds, types. Adapters import ports only.
 * @type {import('dependency-cruiser').IConfiguration}
 */

/** The rooms of the pipeline; each may import the rooms before it, except that only `rounds` and `poll` know `scan`. */
const pipeline = [
  'records/',
  'changes/',
  'transaction/',
  '(poll|round|position|look|doubts)\\.ts',
  'rounds/',
];

/** The layers of the Kafka adapter, from the top down; each may import the layers below it. */
const kafkaLayers = [
  '(kafka-log|kafka-reader|consumer-log|shared-topics)\\.ts',
  'consumer/',
  'ownership/',
  'group/',
  'reader/',
  'admin/',
  'producer/',
  'protocol/',
  'connection/',
];

const forbid = (name, comment, from, to, severity = 'error') => ({ name, comment, severity, from, to });

module.exports = {
  forbidden: [
    forbid(
      'no-circular',
      'Two modules that need each other are one module, or lack a third.',
      {},
      { circular: true },
    ),
    forbid(
      'pipeline-imports-ports',
      'The pipeline knows ports, not who stands behind them, and nothing of those who run it.',
      { path: '^src/pipeline/' },
      { path: '^src/(cli|runtime|config|simulator|log/local|log/kafka|avro/registry/(local|confluent)-)' },
    ),
    forbid(
      'pipeline-knows-the-source-by-its-port',
      'One GET is one page: how it is fetched is not the scan’s concern.',
      { path: '^src/pipeline/' },
      { path: '^src/source/', pathNot: '^src/source/source\\.ts$' },
    ),
    forbid(
      'feeds-are-data',
      'A definition is data; rows hold numbers that JavaScript does not have.',
      { path: '^src/feeds/' },
      { path: '^src/', pathNot: '^src/(feeds/|json/(exact-number|dotted-path)\\.ts$)' },
    ),
    forbid(
      'types-import-nothing-above',
      'Types and state stand below the pipeline.',
      { path: '^src/(types|state|avro)' },
      { path: '^src/(pipeline|runtime|cli|config|simulator|source)/' },
    ),
    forbid(
      'adapters-import-ports',
      'An adapter of the log knows its port.',
      { path: '^src/log/(local|kafka)/' },
      { path: '^src/(pipeline|runtime|cli|config|simulator|source|state)/' },
    ),
    forbid(
      'runtime-below-cli',
      'Commands call the runtime, not the other way round.',
      { path: '^src/runtime/' },
      { path: '^src/cli/' },
    ),
    forbid(
      'commands-below-runtime',
      'How a command reaches an owner knows nothing of how it is carried out.',
      { path: '^src/commands/' },
      { path: '^src/(cli|runtime|pipeline|config|simulator|source|state)/' },
    ),
    forbid(
      'simulator-stands-alone',
      'The vendor knows nothing of its reader.',
      { path: '^src/simulator/' },
      { path: '^src/', pathNot: '^src/simulator/' },
    ),
    forbid(
      'simulator-in-commands-only',
      'Production code never meets the simulator.',
      { path: '^src/', pathNot: '^src/(simulator/|cli/(demo|simulate))' },
      { path: '^src/simulator/' },
    ),
    forbid(
      'sqlite-in-its-adapter',
      'SQLite is one log among others.',
      { path: '^src/', pathNot: '^src/log/local/' },
      { path: 'node_modules/libsql' },
    ),
    forbid(
      'kafkajs-in-its-adapter',
      'Its faults are answered in one place.',
      { path: '^src/', pathNot: '^src/log/kafka/' },
      { path: 'node_modules/kafkajs' },
    ),
    forbid(
      'spans-in-one-place',
      'Who works says what a span covers; how spans are made is known in one place.',
      { path: '^src/', pathNot: '^src/logging/tracing\\.ts$' },
      { path: 'node_modules/@opentelemetry' },
    ),
    forbid(
      'metrics-library-in-admin',
      'Who works tells what it does; who counts it is no concern of theirs.',
      { path: '^src/', pathNot: '^src/admin/' },
      { path: 'node_modules/prom-client' },
    ),
    forbid(
      'admin-above-runtime',
      'Metrics and health look at the publisher, and nothing of it looks back.',
      { path: '^src/', pathNot: '^src/(admin|cli)/' },
      { path: '^src/admin/' },
    ),
    forbid(
      'feed-status-judges-alone',
      'How a feed stands follows from its source offset and what its publisher knows, for whoever asks.',
      { path: '^src/feed-status/' },
      { path: '^src/(admin|cli|runtime|pipeline|source|config|simulator|log/(local|kafka))/' },
    ),
    forbid(
      'page-knows-what-it-is-told',
      'It runs in a browser: of the server it has the types of what comes over the wire, and words that terminals share.',
      { path: '^src/admin/page/' },
      {
        pathNot: [
          '^src/admin/page/',
          '^src/admin/dashboard/view\\.ts$',
          '^src/format/(durations|counted)\\.ts$',
          '(^|/)node_modules/(preact|eventsource-parser)/',
        ],
      },
    ),
    forbid(
      'page-imports-types-alone',
      'Nothing of the server is bundled.',
      { path: '^src/admin/page/' },
      { path: '^src/admin/dashboard/', dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'page-by-itself',
      'The server serves it as files.',
      { path: '^src/', pathNot: '^src/admin/page/' },
      { path: '^src/admin/page/' },
    ),
    forbid(
      'axios-in-its-adapters',
      'One HTTP client, and one place for each server that it calls.',
      {
        path: '^src/',
        pathNot: '^src/(source/|delivery/send\\.ts$|avro/registry/confluent-registry-http\\.ts$)',
      },
      { path: 'node_modules/axios' },
    ),
    forbid(
      'registry-library-in-its-adapter',
      'Its faults are fenced off in one place.',
      { path: '^src/', pathNot: '^src/avro/registry/confluent-registration\\.ts$' },
      { path: 'node_modules/(@kafkajs/confluent-schema-registry|mappersmith)' },
    ),
    ...pipeline
      .slice(0, -1)
      .map((room, i) =>
        forbid(
          `pipeline-${room.replace(/\W+/g, '-')}-below-what-follows`,
          'poll.ts calls the rooms in order; a room does not know the rooms after it.',
          { path: `^src/pipeline/${room}` },
          { path: `^src/pipeline/(${pipeline.slice(i + 1).join('|')})` },
        ),
      ),
    forbid(
      'scan-reads-pages-only',
      'The scan knows rows by id and time, not what becomes of them.',
      { path: '^src/pipeline/scan/' },
      { path: '^src/pipeline/', pathNot: '^src/pipeline/(scan/|records/row\\.ts$)' },
    ),
    ...kafkaLayers
      .slice(1)
      .map((layer, i) =>
        forbid(
          `kafka-${layer.replace(/\W+/g, '-')}-imports-downwards`,
          'A layer of the Kafka adapter does not know the layers above it.',
          { path: `^src/log/kafka/${layer}` },
          { path: `^src/log/kafka/(${kafkaLayers.slice(0, i + 1).join('|')})` },
        ),
      ),
    forbid(
      'kafkajs-internals-in-one-file',
      'What kafkajs does not publish is touched in one file.',
      { path: '^src/', pathNot: '^src/log/kafka/connection/kafkajs-internals\\.ts$' },
      { path: 'node_modules/kafkajs/src/' },
    ),
    forbid(
      'no-orphans',
      'Nothing imports it.',
      { orphan: true, path: '^src/', pathNot: '(main|index|\\.d)\\.tsx?$' },
      {},
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'],
      conditionNames: ['import', 'types', 'default'],
      exportsFields: ['exports'],
    },
  },
};
