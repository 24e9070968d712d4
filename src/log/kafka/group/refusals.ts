import { type ErrorCode, HighwaterError } from '../../../errors';
import { protocolType } from '../kafka-failure';

/**
 * What the coordinator says no to, and goes on to, as a person meets it.
 * @param doing `joining the group highwater:owners`
 * @returns null: it is no such answer
 */
export function refusalOf(
  error: unknown,
  doing: string,
  groupId: string,
  sessionTimeoutMs: number,
): HighwaterError | null {
  const type = protocolType(error);
  if (type === null || !Object.hasOwn(refusals, type)) return null;
  const [code, what, remedy] = refusals[type]!(groupId, sessionTimeoutMs);
  return new HighwaterError(code, `${doing}: ${what}`, { cause: error, remedy });
}

/** By Kafka's name of the answer: code, what, remedy. */
const refusals: Readonly<
  Record<string, (groupId: string, sessionTimeoutMs: number) => readonly [ErrorCode, string, string]>
> = {
  INVALID_SESSION_TIMEOUT: (_, ms) => [
    'CONFIG_INVALID',
    `the brokers do not allow a session timeout of ${ms / 1000} s`,
    'Set KAFKA_SESSION_TIMEOUT to what lies between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  ],
  INCONSISTENT_GROUP_PROTOCOL: (groupId) => [
    'LOG_FAILED',
    'its members do not speak the protocol of highwater',
    endForeign(groupId),
  ],
  GROUP_MAX_SIZE_REACHED: () => [
    'LOG_FAILED',
    'the brokers allow no more members (group.max.size)',
    'Run fewer instances, or raise it.',
  ],
};

/** What to do about members of another program. */
export function endForeign(groupId: string): string {
  return `Give this installation another app id (HIGHWATER_APP_ID), or end the consumers that use the group ${groupId}.`;
}
