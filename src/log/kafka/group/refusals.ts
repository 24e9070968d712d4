import { HighwaterError } from '../../../errors';
import { protocolType } from '../connection/kafka-failure';

/** Remedies for refusals. */
export interface Remedies {
  readonly sessionTimeout: string;
  /** About members of another program. */
  readonly foreign: string;
  readonly crowded: string;
}

const ofOwners = (groupId: string): Remedies => ({
  sessionTimeout:
    'Set KAFKA_SESSION_TIMEOUT to a value between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  foreign: endForeign(groupId),
  crowded: 'Run fewer instances, or raise it.',
});

/**
 * The error for a refusal of the coordinator that another try does not change.
 * @param doing `joining the group highwater:owners`
 * @returns null: another try may help
 */
export function refusalOf(
  error: unknown,
  doing: string,
  groupId: string,
  sessionTimeoutMs: number,
  remedies = ofOwners(groupId),
): HighwaterError | null {
  switch (protocolType(error)) {
    case 'INVALID_SESSION_TIMEOUT': {
      const what = `${doing}: the brokers do not allow a session timeout of ${sessionTimeoutMs / 1000} s`;
      return new HighwaterError('CONFIG_INVALID', what, { cause: error, remedy: remedies.sessionTimeout });
    }
    case 'INCONSISTENT_GROUP_PROTOCOL': {
      const what = `${doing}: its members do not speak the protocol of highwater`;
      return new HighwaterError('LOG_FAILED', what, { cause: error, remedy: remedies.foreign });
    }
    case 'GROUP_MAX_SIZE_REACHED': {
      const what = `${doing}: the brokers allow no more members (group.max.size)`;
      return new HighwaterError('LOG_FAILED', what, { cause: error, remedy: remedies.crowded });
    }
    default:
      return null;
  }
}

/** The remedy if members of another program are in the group. */
export function endForeign(groupId: string): string {
  return `Give this installation another app id (HIGHWATER_APP_ID), or end the consumers that use the group ${groupId}.`;
}
