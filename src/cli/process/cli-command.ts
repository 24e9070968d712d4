import { Command, Option } from 'commander';
import { CONFIG_VARIABLE, DEFAULT_CONFIG_FILE } from '../../config/files/read-config-file';
import { flagName, type Setting, settings } from '../../config/settings';

/** Options of a command as commander returns them, with all settings. */
export interface Flags {
  readonly json?: true;
  readonly [option: string]: unknown;
}

/** A command of highwater. */
export class CliCommand extends Command {
  /**
   * Adds the settings as options, in the order of the table. Every command accepts all of them, so that one set of flags serves for all
   * commands.
   * @param shown names of the flags that the help of the command has (`apiUrl`, `feeds`); all when left out
   */
  settings(shown?: readonly string[]): this {
    for (const { flag, env, doc, default: usual } of Object.values<Setting>(settings)) {
      if (flag === null) continue;
      const fallback = usual === null || usual === '' ? '' : `, default ${usual}`;
      // Not commander's own .env(): the order of precedence is ours, and commander would read the variable as a flag.
      const option = new Option(flag, `${plain(doc)} (${env}${fallback})`);
      this.addOption(option.hideHelp(shown?.includes(flagName(flag)) === false));
    }
    this.option(
      '--config <file>',
      `File with settings (${CONFIG_VARIABLE}, default ${DEFAULT_CONFIG_FILE}, if it exists)`,
    );
    if (shown === undefined) return this;
    return this.notes(
      '\nEvery other setting is a flag of this command too; `highwater config show --help` lists them.',
    );
  }

  /** A text below the options in the help. */
  notes(text: string): this {
    return this.addHelpText('after', text);
  }
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
