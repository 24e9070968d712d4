import { z } from 'zod';
import { deliverySettings } from '../config/deliveries';
import { feedSettings } from '../config/feeds/feed-settings';
import { readConfigFile } from '../config/files/read-config-file';
import { loadConfig } from '../config/load-config';
import { readSettings } from '../config/raw-settings';
import { type Setting, settingKeys, settings } from '../config/settings';
import { createRedactor } from '../secrets/redaction';
import { show } from './list';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { span } from './terminal/text';

export function configCommand(run: RunCommand): CliCommand {
  const showCommand = new CliCommand('show')
    .description('Print every setting, its value, and where the value comes from. Secrets are not shown.')
    .option('--json', 'One JSON object a line');
  const schema = new CliCommand('schema')
    .description('Print the JSON Schema of highwater.yaml, for editors.')
    .notes(`
Examples:
  $ npx highwater config schema > highwater.schema.json
  then, as the first line of highwater.yaml:  # yaml-language-server: $schema=highwater.schema.json`)
    .action(() =>
      run(async ({ print }) => {
        await print(`${JSON.stringify(configSchema(), null, 2)}\n`);
        return 0;
      }),
    );
  return new CliCommand('config')
    .addCommand(
      showCommand.settings().action((flags: Flags) => run((context) => showSettings(flags, context))),
    )
    .addCommand(schema);
}

async function showSettings(flags: Flags, context: CommandContext): Promise<number> {
  const { env, cwd } = context;
  // Mistakes end it as they end any other command.
  const { secrets } = loadConfig({ flags, env, cwd }, 'whatever is set');
  context.hide(secrets);
  const redact = createRedactor(secrets);
  const { values, origins } = readSettings({ flags, env, file: readConfigFile({ flags, env, cwd }).file });
  const all = settingKeys.map((key) => {
    const value = settings[key].secret && values[key] !== null ? '(set, not shown)' : values[key];
    // `HIGHWATER_API_URL`, `highwater.yaml, line 3` or `--api-url`.
    return { key, value, from: origins.get(key)?.where ?? 'default' };
  });
  const columns = [{ head: 'SETTING' }, { head: 'VALUE', least: 12 }, { head: 'FROM', least: 12 }];
  const cells = ({ key, value, from }: (typeof all)[number]) => {
    const isSet = from !== 'default';
    const text = value === null ? '–' : redact(Array.isArray(value) ? value.join(',') : String(value));
    return [key, span(text, isSet ? 'bold' : 'dim'), span(from, isSet ? undefined : 'dim')];
  };
  const print = (text: string | Uint8Array) => context.print(redact(String(text)));
  await show(all, columns, cells, flags, { ...context, print });
  return 0;
}

/** JSON Schema of `highwater.yaml`, for editors: names, types and descriptions. The program checks the values. */
export function configSchema(): unknown {
  const own = Object.entries<Setting>(settings).map(
    ([key, { schema, doc, default: fallback }]) =>
      [
        key,
        schema.describe(fallback === null || fallback === '' ? doc : `${doc} Default: ${fallback}.`),
      ] as const,
  );
  const file = z.strictObject({
    ...Object.fromEntries(own),
    feeds: z.record(z.string(), feedSettings).describe('Settings of feeds, and feeds of your own, by name.'),
    deliveries: z.record(z.string(), deliverySettings).describe('Where which events are sent, by name.'),
  });
  return z.toJSONSchema(file.partial(), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The program reads each scalar as the text that was written; YAML makes numbers and booleans of some.
      if (jsonSchema.type === 'string' && jsonSchema.enum === undefined && jsonSchema.const === undefined)
        jsonSchema.type = ['string', 'number', 'boolean'] as unknown as 'string';
    },
  });
}
