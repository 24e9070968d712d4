import { pause } from '../async/wait';
import { HighwaterError } from '../errors';
import type { KafkaConfig } from '../log/kafka/connection/client';
import type { Logger } from '../logging/logger';
import type { Rotation } from '../secrets/rotation';

/** Passwords and certificates that a server may refuse, and that may be replaced while the program runs. */
export interface Refusals {
  /** Whether the refused secret comes from a file, so that the refusal may pass. */
  mayPass(refusal: HighwaterError): boolean;
  readonly rotation: Pick<Rotation, 'changes' | 'look'>;
  /** How long a group has work without a refusal by the brokers until the last one is over, ms. */
  readonly settledMs: number;
}

type Login = Pick<KafkaConfig, 'sasl'>;

/** By code: the names of the settings that hold the refused secret. */
const settingsOf = {
  KAFKA_UNAUTHENTICATED: (kafka) => (kafka?.sasl == null ? /^kafkaSsl/ : /^kafkaSasl/),
  KAFKA_CERTIFICATE: () => /^kafkaSsl/,
  REGISTRY_CERTIFICATE: () => /^schemaRegistry/,
  REGISTRY_UNAUTHORIZED: () => /^schemaRegistry(Password|BearerAuth)/,
} as const satisfies Record<string, (kafka: Login | null) => RegExp>;

type Refusal = HighwaterError & { readonly code: keyof typeof settingsOf };

/** Whether a server refused the login, or showed a certificate that is not trusted. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof HighwaterError && Object.hasOwn(settingsOf, error.code);
}

export function refusalsOf(kafka: Login | null, rotation: Rotation, settledMs = SETTLED_MS): Refusals {
  return {
    mayPass: (refusal) => isRefusal(refusal) && rotation.reads(settingsOf[refusal.code](kafka)),
    rotation,
    settledMs,
  };
}

/** One broker may give a group work, and another one refuse it then. In ms. */
const SETTLED_MS = 10_000;
/** How often a group that rests looks for a replaced file, in ms. */
const LOOK_MS = 1_000;
/** Brokers lock out a client that comes again and again with a wrong password. In ms. */
const [FIRST_REST_MS, LONGEST_REST_MS] = [1_000, 60_000];

/**
 * Does the work of a group again after a refusal that may pass: as soon as a file is replaced, otherwise ever more slowly.
 * @param work calls `hasJoined` when the group is given work
 * @throws what the work throws; a refusal that cannot pass says what to do
 */
export async function outliving(
  { mayPass, rotation, settledMs }: Refusals,
  groupId: string,
  logger: Logger,
  signal: AbortSignal,
  work: (hasJoined: () => void) => Promise<void>,
): Promise<void> {
  let restMs = FIRST_REST_MS;
  /** The codes of the refusals that people were told of: once each, however often a file is replaced meanwhile. */
  const told = new Set<Refusal['code']>();
  const over = (): void => {
    if (told.size > 0) logger.warn(`The group ${groupId} goes on.`);
    told.clear();
    restMs = FIRST_REST_MS;
  };
  for (;;) {
    const changes = await rotation.look();
    let settled: NodeJS.Timeout | undefined;
    const hasJoined = () => {
      // A registry that refuses the login of a group may be asked for nothing for a while.
      const isOfBrokers = [...told].every((code) => code.startsWith('KAFKA'));
      settled ??= setTimeout(over, isOfBrokers ? settledMs : LONGEST_REST_MS).unref();
    };
    try {
      return await work(hasJoined).finally(() => clearTimeout(settled));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { code, message } = error;
      if (!mayPass(error)) {
        throw new HighwaterError(code, message, {
          cause: error,
          now: `The consumer of the group ${groupId} ends. The group keeps its position.`,
          remedy: `${error.remedy} Then start the program again.`,
        });
      }
      if (signal.aborted) return;
      logger.debug('the group rests', { groupId, restMs, error });
      if (!told.has(code)) {
        logger.warn(`The group ${groupId} rests: ${message}`, {
          code,
          now: 'It goes on as soon as the file is replaced; until then it tries again ever more slowly.',
          remedy: error.remedy,
        });
      }
      told.add(code);
      const until = performance.now() + restMs;
      while (!signal.aborted && performance.now() < until && (await rotation.look()) === changes)
        await pause(LOOK_MS, signal);
      restMs = Math.min(2 * restMs, LONGEST_REST_MS);
    }
  }
}
