import { type Command, Option } from 'commander';
import { CONFIG_VARIABLE, DEFAULT_CONFIG_FILE } from './files/read-config-file';
import { flagName, type Setting, settings } from './settings';

/**
 * Adds the settings to a command as options, in the order of the table.
 * @param only names of the flags that the command knows (`apiUrl`, `feeds`); all when left out
 */
export function addSettings(command: Command, only?: readonly string[]): Command {
  for (const { flag, env, doc, default: usual } of Object.values<Setting>(settings)) {
    if (flag === null || only?.includes(flagName(flag)) === false) continue;
    const fallback = usual === null || usual === '' ? '' : `, default ${usual}`;
    // Not commander's own .env(): the order of precedence is ours, and commander would read the variable as a flag.
    command.addOption(new Option(flag, `${plain(doc)} (${env}${fallback})`));
  }
  return command.option(
    '--config <file>',
    `File with settings (${CONFIG_VARIABLE}, default ${DEFAULT_CONFIG_FILE}, if it exists)`,
  );
}

/** Variables without a flag, for the end of a help text. */
export function variablesWithoutFlag(): string {
  return Object.values<Setting>(settings)
    .filter(({ flag }) => flag === null)
    .map(({ env, doc }) => `  ${env}  ${plain(doc)}`)
    .join('\n');
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}
