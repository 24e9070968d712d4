import { Argument, type Command } from 'commander';
import { feedDefinitions } from '../feeds';
import { CliCommand } from './process/cli-command';
import type { RunCommand } from './process/command-context';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** @param commands all of them, with their options */
export function completionCommand(run: RunCommand, commands: () => readonly Command[]): CliCommand {
  return new CliCommand('completion')
    .addArgument(new Argument('<shell>', 'the shell to complete in').choices(shells))
    .notes(`
Examples:
  $ source <(highwater completion bash)                                        in ~/.bashrc
  $ source <(highwater completion zsh)                                         in ~/.zshrc, after compinit
  $ highwater completion fish > ~/.config/fish/completions/highwater.fish`)
    .action((shell: Shell) =>
      run(async ({ print }) => {
        const words = commands().flatMap((command) => [
          word(command),
          ...command.commands.map((part) => word(part, `${command.name()} `)),
        ]);
        await print(scripts[shell](words));
        return 0;
      }),
    );
}

interface Word {
  /** `schemas`, `schemas check` */
  readonly name: string;
  readonly words: readonly string[];
}

/** Words that may follow a command: its parts, its options and, if it takes feeds, their names. */
function word(command: Command, before = ''): Word {
  const takesFeeds = command.registeredArguments.some((argument) => /^(feeds?|topic)$/.test(argument.name()));
  return {
    name: `${before}${command.name()}`,
    words: [
      ...command.commands.map((part) => part.name()),
      ...command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
      ...(takesFeeds ? feedDefinitions.map(({ name }) => name) : []),
    ].filter((text) => text !== ''),
  };
}

const top = (all: readonly Word[]) => all.filter(({ name }) => !name.includes(' ')).map(({ name }) => name);

/** The words that may follow, by the first words of the line; the longest match counts. */
function cases(all: readonly Word[]): string {
  return [...all]
    .sort((a, b) => b.name.length - a.name.length)
    .map(({ name, words }) => `    "${name} "*) words="${words.join(' ')}" ;;`)
    .join('\n');
}

const scripts: Readonly<Record<Shell, (all: readonly Word[]) => string>> = {
  bash: (all) => `_highwater() {
  local line="\${COMP_WORDS[*]:1:COMP_CWORD-1} " words
  case "$line" in
${cases(all)}
    *) words="${top(all).join(' ')}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _highwater highwater
`,
  zsh: (all) => `_highwater() {
  local line="\${words[2,CURRENT-1]} " words
  case "$line" in
${cases(all)}
    *) words="${top(all).join(' ')}" ;;
  esac
  compadd -- \${=words}
  _files
}
compdef _highwater highwater
`,
  fish: (all) => {
    const names = top(all).join(' ');
    const lines = all.map(({ name, words }) => {
      const [command, part] = name.split(' ');
      const inPart = part === undefined ? '' : ` ${part}`;
      const condition = `__fish_seen_subcommand_from ${command}${part === undefined ? '' : `; and __fish_seen_subcommand_from${inPart}`}`;
      return `complete -c highwater -n "${condition}" -a "${words.join(' ')}"`;
    });
    return `complete -c highwater -n "not __fish_seen_subcommand_from ${names}" -a "${names}"\n${lines.join('\n')}\n`;
  },
};
