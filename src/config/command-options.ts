import { Option } from 'commander';
import { flagName, type Setting, settings } from './settings';

/**
 * The settings as options of a command, in the order of the table.
 * @param only names of the flags that the command knows (`apiUrl`, `feeds`); all when left out
 */
export function configOptions(only?: readonly string[]): Option[] {
  const options = Object.values<Setting>(settings).flatMap((setting) => {
    if (setting.flag === null || only?.includes(flagName(setting.flag)) === false) return [];
    // Not commander's own .env(): precedence and checks are ours, commander would read the variable as a flag.
    const fallback = setting.default === null || setting.default === '' ? '' : `, default ${setting.default}`;
    return [new Option(setting.flag, `${plain(setting.doc)} (${setting.env}${fallback})`)];
  });
  return [
    ...options,
    new Option('--config <file>', 'File with settings (default highwater.yaml, when it exists)'),
  ];
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
