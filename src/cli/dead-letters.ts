import { Command } from 'commander';
import { listDeadLettersCommand } from './list-dead-letters';
import { retryDeadLettersCommand } from './operators/operator-commands';
import type { RunCommand } from './process/command-context';

export function deadLettersCommand(run: RunCommand): Command {
  return new Command('dead-letters')
    .addCommand(listDeadLettersCommand(run))
    .addCommand(retryDeadLettersCommand(run));
}
