// node check.cjs <folder with the packages> <document>: what is found wrong with it, and its topics, as JSON.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');

const [folder, file] = process.argv.slice(2);
const packages = createRequire(path.join(folder, 'package.json'));
const { default: Ajv } = packages('ajv');
const yaml = packages('js-yaml');
const { Parser } = packages('@asyncapi/parser');
const { AvroSchemaParser } = packages('@asyncapi/avro-schema-parser');

async function main() {
  const text = readFileSync(file, 'utf8');
  const avro = AvroSchemaParser();
  const parser = new Parser();
  parser.registerSchemaParser(avro);
  const { document, diagnostics } = await parser.parse(text);
  const found = diagnostics.map(({ code, message, path: at }) => ({ code, message, at: at.join('/') }));
  // Of AsyncAPI 3 the parser only converts the payloads to JSON Schema: it asks neither whether they are Avro, nor whether
  // the examples keep to them.
  for (const [name, { payload }] of Object.entries(yaml.load(text).components.messages)) {
    if (payload.schemaFormat === undefined) continue;
    const wrong = await avro.validate({ data: payload.schema, path: [] });
    found.push(...wrong.map(({ message }) => ({ code: 'avro', message, at: name })));
  }
  for (const message of document?.components().messages().all() ?? []) found.push(...examples(message));
  const topics = document?.channels().all() ?? [];
  process.stdout.write(JSON.stringify({ found, topics: topics.map((channel) => channel.address()) }));
}

function examples(message) {
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  const { schema } = message.payload().json();
  return message
    .examples()
    .all()
    .flatMap((example) =>
      [
        [schema, example.payload()],
        [message.headers().json(), example.headers()],
      ].flatMap(([schema, value]) => {
        ajv.validate(schema, value);
        return (ajv.errors ?? []).map((error) => ({
          code: 'example',
          message: ajv.errorsText([error]),
          at: message.name(),
        }));
      }),
    );
}

main();
