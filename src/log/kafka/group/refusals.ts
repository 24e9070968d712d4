import { type ErrorCode, HighwaterError } from '../../../errors';
import { protocolType } from '../connection/kafka-failure';

/** What to do about a refusal. */
export interface Remedies {
  readonly sessionTimeout: string;
  /** About members of another program. */
  foreign(groupId: string): string;
  readonly crowded: string;
}

const ofOwners: Remedies = {
  sessionTimeout:
    'Set KAFKA_SESSION_TIMEOUT to what lies between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  foreign: endForeign,
  crowded: 'Run fewer instances, or raise it.',
};

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
  remedies = ofOwners,
): HighwaterError | null {
  const type = protocolType(error);
  if (type === null || !Object.hasOwn(refusals, type)) return null;
  const [code, what, remedyOf] = refusals[type]!;
  return new HighwaterError(code, `${doing}: ${what(sessionTimeoutMs)}`, {
    cause: error,
    remedy: remedyOf(remedies, groupId),
  });
}

/** By Kafka's name of the answer: code, what, remedy. */
const refusals: Readonly<
  Record<
    string,
    readonly [
      ErrorCode,
      (sessionTimeoutMs: number) => string,
      (remedies: Remedies, groupId: string) => string,
    ]
  >
> = {
  INVALID_SESSION_TIMEOUT: [
    'CONFIG_INVALID',
    (ms) => `the brokers do not allow a session timeout of ${ms / 1000} s`,
    ({ sessionTimeout }) => sessionTimeout,
  ],
  INCONSISTENT_GROUP_PROTOCOL: [
    'LOG_FAILED',
    () => 'its members do not speak the protocol of highwater',
    ({ foreign }, groupId) => foreign(groupId),
  ],
  GROUP_MAX_SIZE_REACHED: [
    'LOG_FAILED',
    () => 'the brokers allow no more members (group.max.size)',
    ({ crowded }) => crowded,
  ],
};

/** What to do about members of another program. */
export function endForeign(groupId: string): string {
  return `Give this installation another app id (HIGHWATER_APP_ID), or end the consumers that use the group ${groupId}.`;
}
