import { Command } from 'commander';
import { listDeadLettersCommand } from './list-dead-letters';
import { retryDeadLettersCommand } from './operator-commands';

export function deadLettersCommand(): Command {
  return new Command('dead-letters')
    .description(
      'What could not be published: rows without an id or a time stamp, and changes too large for the log.',
    )
    .addCommand(listDeadLettersCommand())
    .addCommand(retryDeadLettersCommand());
}
