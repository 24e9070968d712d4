import { Command } from 'commander';
import { addSettings } from '../../config/command-options';

/** Options of a command as commander returns them, with all settings. */
export interface Flags {
  readonly json?: true;
  readonly [option: string]: unknown;
}

/** A command of highwater. */
export class CliCommand extends Command {
  /** Accepts every setting. @param shown as `addSettings` takes it */
  settings(shown?: readonly string[]): this {
    addSettings(this, shown);
    return this;
  }

  /** A text below the options in the help. */
  notes(text: string): this {
    return this.addHelpText('after', text);
  }
}
