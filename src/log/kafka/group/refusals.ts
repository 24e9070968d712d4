import { type ErrorCode, HighwaterError } from '../../../errors';
import type { CommandTarget } from '../connection/admin-commands';
import { kafkaFailure, protocolType } from '../connection/kafka-failure';

/** Remedies for refusals. `foreign`: members of another program are in the group. */
export type Remedies = ReturnType<typeof ofOwners>;

const ofOwners = (groupId: string) => ({
  sessionTimeout:
    'Set KAFKA_SESSION_TIMEOUT to a value between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  foreign: endForeign(groupId),
  crowded: 'Run fewer instances, or raise it.',
});

/** The group that a member joins. */
export interface Joining {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  /** For the commands in remedies. */
  readonly target: CommandTarget;
}

/**
 * A failure of joining a group in words for people.
 * @param remedies default: those of the owners of feeds
 * @returns `refusal`: the coordinator would refuse another try too; null otherwise
 */
export function joinFailure(
  error: unknown,
  { groupId, sessionTimeoutMs, target }: Joining,
  remedies = ofOwners(groupId),
): { readonly failure: unknown; readonly refusal: HighwaterError | null } {
  const doing = `joining the group ${groupId}`;
  const refused = (code: ErrorCode, what: string, remedy: string) => {
    const failure = new HighwaterError(code, `${doing}: ${what}`, { cause: error, remedy });
    return { failure, refusal: failure };
  };
  switch (protocolType(error)) {
    case 'INVALID_SESSION_TIMEOUT': {
      const what = `the brokers do not allow a session timeout of ${sessionTimeoutMs / 1000} s`;
      return refused('CONFIG_INVALID', what, remedies.sessionTimeout);
    }
    case 'INCONSISTENT_GROUP_PROTOCOL':
      return refused('LOG_FAILED', 'its members do not speak the protocol of highwater', remedies.foreign);
    case 'GROUP_MAX_SIZE_REACHED':
      return refused('LOG_FAILED', 'the brokers allow no more members (group.max.size)', remedies.crowded);
    default: {
      const asked = { operation: 'READ', topics: [], groupId, cluster: target } as const;
      return { failure: kafkaFailure(error, doing, asked), refusal: null };
    }
  }
}

/** The remedy if members of another program are in the group. */
export function endForeign(groupId: string): string {
  return `Give this installation another app id (HIGHWATER_APP_ID), or end the consumers that use the group ${groupId}.`;
}

/** Whether a group can be reached, and whether people were told that it cannot. */
export class Contact {
  /** Own clock; null while the group can be reached. At first it has not been reached. */
  private lostSince: number | null = performance.now();
  private isTold = false;

  /** @returns whether people were told that it was lost */
  regained(): boolean {
    const { isTold } = this;
    this.lostSince = null;
    this.isTold = false;
    return isTold;
  }

  /** @returns for how long the group could not be reached, in ms */
  failed(): number {
    this.lostSince ??= performance.now();
    return performance.now() - this.lostSince;
  }

  /** @returns whether people are to be told now: once for each loss */
  tell(): boolean {
    const { isTold } = this;
    this.isTold = true;
    return !isTold;
  }
}
