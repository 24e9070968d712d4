import { readConfigFile } from '../config/files/read-config-file';
import { loadConfig } from '../config/load-config';
import { readSettings } from '../config/raw-settings';
import { settingKeys, settings } from '../config/settings';
import { createRedactor } from '../secrets/redaction';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { span, tableText } from './terminal/text';

export function configCommand(run: RunCommand): CliCommand {
  const show = new CliCommand('show')
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
        const { configSchema }: typeof import('../config/config-schema') = require('../config/config-schema');
        await print(`${JSON.stringify(configSchema(), null, 2)}\n`);
        return 0;
      }),
    );
  return new CliCommand('config')
    .addCommand(show.settings().action((flags: Flags) => run((context) => showSettings(flags, context))))
    .addCommand(schema);
}

interface ShownSetting {
  readonly key: string;
  readonly value: unknown;
  /** `HIGHWATER_API_URL`, `highwater.yaml, line 3`, `--api-url` or `default`. */
  readonly from: string;
}

async function showSettings(flags: Flags, context: CommandContext): Promise<number> {
  const { env, cwd } = context;
  // Mistakes end it as they end any other command.
  const { secrets } = loadConfig({ flags, env, cwd }, 'whatever is set');
  context.hide(secrets);
  const redact = createRedactor(secrets);
  const { values, origins } = readSettings({ flags, env, file: readConfigFile({ flags, env, cwd }).file });
  const all = settingKeys.map((key): ShownSetting => {
    const value = settings[key].secret && values[key] !== null ? '(set, not shown)' : values[key];
    return { key, value, from: origins.get(key)?.where ?? 'default' };
  });
  if (flags.json === true) {
    await context.print(all.map((one) => `${redact(JSON.stringify(one))}\n`).join(''));
    return 0;
  }
  const columns = [{ head: 'SETTING' }, { head: 'VALUE', least: 12 }, { head: 'FROM', least: 12 }];
  const rows = all.map(({ key, value, from }) => {
    const isSet = from !== 'default';
    const text = value === null ? '–' : redact(Array.isArray(value) ? value.join(',') : String(value));
    return [span(key), span(text, isSet ? 'bold' : 'dim'), span(from, isSet ? undefined : 'dim')];
  });
  await context.print(tableText(columns, rows, context));
  return 0;
}
