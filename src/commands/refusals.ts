import { HighwaterError } from '../errors';
import type { CommandRecord } from './command-record';

/** What the owner answers, instead of an outcome, to a command that it did not carry out to its end. */
export interface Refusals {
  notStarted(asked: CommandRecord): HighwaterError;
  notFinished(asked: CommandRecord): HighwaterError;
  tooLate(asked: CommandRecord): HighwaterError;
  unknownCommand(asked: CommandRecord): HighwaterError;
}

const now = 'Nothing of it was done.';

/** @param instance how askers name the owner to people */
export function refusalsBy(instance: string): Refusals {
  return {
    notStarted({ command, feed }) {
      const what = `${instance} let go of the feed ${feed} before it began with ${command}`;
      return new HighwaterError('COMMAND_REFUSED', what, { now, remedy: 'Ask again.' });
    },
    notFinished({ command, feed }) {
      const what = `${instance} ended while it carried out ${command} of ${feed}`;
      return new HighwaterError('COMMAND_INTERRUPTED', what);
    },
    tooLate({ command, feed, expires_ms }) {
      const what = `${instance} came to ${command} of ${feed} after ${new Date(expires_ms).toISOString()}, when it had expired`;
      return new HighwaterError('COMMAND_REFUSED', what, { now, remedy: 'Ask again.' });
    },
    unknownCommand({ command, feed }) {
      const what = `${instance}, which owns ${feed}, does not know the command ${command}, or not so`;
      const remedy = 'Use the same version of highwater as the publisher.';
      return new HighwaterError('COMMAND_REFUSED', what, { now, remedy });
    },
  };
}
