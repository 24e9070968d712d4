import type { JoinedMember } from './member-data';

/** The assignment of a member. It holds until the next one. */
export interface MemberPlace {
  readonly memberId: string;
  readonly generation: number;
  readonly assignment: Buffer;
}

/** How the members of a group share its work. The member's loop carries it and does not look inside. */
export interface GroupProtocol {
  /** Members that speak no protocol in common cannot be in one group. */
  readonly name: string;
  /** How long the group waits for members to join again, in ms. It does not wait for a member without signs of life. */
  readonly rebalanceTimeoutMs: number;
  /** Asked at every join. */
  introduction(): Buffer;
  /** Asked of the member that leads the group. */
  divide(
    members: readonly JoinedMember[],
  ): Promise<readonly { readonly memberId: string; readonly memberAssignment: Buffer }[]>;
  /** The group has settled. */
  placed(place: MemberPlace): void;
  /** Whether the group is to be deleted when this member was the last. */
  isPassing(): boolean;
  /** Left out by members that have no work in hand. */
  readonly work?: {
    /**
     * The place is to be given up. Resolves when the work in hand is done. Heartbeats continue during that time. May be called
     * again.
     */
    finish(): Promise<void>;
    /** The group goes on without what this member had. */
    lost(): void;
  };
}
