import { Command } from 'commander';
import { retryDeadLettersCommand } from './operator-commands';

export function deadLettersCommand(): Command {
  return new Command('dead-letters')
    .description('What could not be published.')
    .addCommand(retryDeadLettersCommand());
}
