import { sharedController } from '../async/wait';

/**
 * A place among the instances that share the feeds of one installation: each feed has one owner among the live instances. It
 * decides which instance works on a feed. Safety comes from the fence of `CommitLog.acquire`, which does not depend on this.
 */
export interface Membership {
  /**
   * Waits until the feed is this instance's.
   * @throws HighwaterError LOG_OWNED to a guest when a live instance has the feed; KAFKA_*, LOG_FAILED when the others cannot
   * be asked; the signal's reason
   */
  grant(feed: string, signal: AbortSignal): Promise<Grant>;
  /**
   * Leaves a feed that could not be taken over to other instances, if one can take it. It is given back when they cannot either;
   * else it is offered again after some minutes.
   */
  decline(feed: string): void;
  /** Gives the place up, so that others take over at once. Acquired feeds must be released before. Never fails. */
  leave(): Promise<void>;
}

/** That a feed is to be owned by this instance, until it is revoked. */
export interface Grant {
  /** Aborted when the feed has become another instance's. The session acquired for the feed must then be released. */
  readonly revoked: AbortSignal;
  /**
   * Asks the others whether the feed is still this instance's. An instance that was away for long learns only in this
   * way that it is not, and a feed must never be taken back from a rightful successor.
   * @returns false when it is not
   * @throws HighwaterError KAFKA_*, LOG_FAILED when they cannot be asked; the signal's reason
   */
  confirm(signal: AbortSignal): Promise<boolean>;
}

export interface JoinOptions {
  /** Name of this instance for people. */
  readonly instance: string;
  /** A guest stays for one piece of work and takes no feed from permanent members. */
  readonly isGuest: boolean;
}

/** The place of an instance that shares with nobody. */
export function soleMembership(): Membership {
  const grant: Grant = { revoked: sharedController().signal, confirm: async () => true };
  return {
    async grant(_, signal) {
      signal.throwIfAborted();
      return grant;
    },
    decline() {},
    async leave() {},
  };
}
