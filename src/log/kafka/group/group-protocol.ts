import type { Joined } from './coordinator';

/** What a member was given. It holds until the next one. */
export interface MemberPlace {
  readonly memberId: string;
  readonly generation: number;
  readonly assignment: Buffer;
}

export type JoinedMember = Joined['members'][number];

export interface Division {
  readonly memberId: string;
  readonly memberAssignment: Buffer;
}

/** What the members of a group share, and how: theirs to say, the loop only carries it. */
export interface GroupProtocol {
  /** Members that speak none in common cannot be in one group. */
  readonly name: string;
  /** How long the group waits for members to join again, in ms. One that gives no sign of life it does not wait for. */
  readonly rebalanceTimeoutMs: number;
  /** Asked at every join. */
  introduction(): Buffer;
  /** Where this member leads. */
  divide(members: readonly JoinedMember[]): Promise<readonly Division[]>;
  /** The group has settled. */
  placed(place: MemberPlace): void;
  /** Whether a member will never join again. */
  isGhost(member: JoinedMember): boolean;
  /** Whether the group is to be deleted when this member was the last. */
  isPassing(): boolean;
  /** Of members that have work in hand. */
  readonly work?: {
    /** The place is to be given up: resolves when what is in hand is done, while signs of life go on. May be called again. */
    finish(): Promise<void>;
    /** The group goes on without what this member had. */
    lost(): void;
  };
}
