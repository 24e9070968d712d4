import type { GroupDescriptions, Kafka } from 'kafkajs';
import { type Broker, readingCluster } from '../connection/cluster';
import { protocolType } from '../connection/kafka-failure';

/**
 * The requests that keep a place in a group, as kafkajs has them inside. Its consumer is not used for that: its heartbeats
 * wait for its fetches, it asks a coordinator that died until that one is back, its failures add up over its life until it
 * crashes, and it then comes back as another member beside its own ghost (`docs/decisions/0012`).
 */
export interface Coordinator {
  joinGroup(request: {
    readonly groupId: string;
    /** ms */
    readonly sessionTimeout: number;
    /** ms */
    readonly rebalanceTimeout: number;
    /** Empty: a new member. */
    readonly memberId: string;
    readonly groupProtocols: readonly { readonly name: string; readonly metadata: Buffer }[];
  }): Promise<Joined>;
  syncGroup(request: {
    readonly groupId: string;
    readonly generationId: number;
    readonly memberId: string;
    /** What each member gets; empty, unless this member leads the group. */
    readonly groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[];
  }): Promise<{ readonly memberAssignment: Buffer }>;
  heartbeat(request: {
    readonly groupId: string;
    readonly groupGenerationId: number;
    readonly memberId: string;
  }): Promise<unknown>;
  leaveGroup(request: { readonly groupId: string; readonly memberId: string }): Promise<unknown>;
  describeGroups(request: { readonly groupIds: readonly string[] }): Promise<GroupDescriptions>;
  deleteGroups(groupIds: readonly string[]): Promise<unknown>;
  offsetCommit(request: {
    readonly groupId: string;
    readonly groupGenerationId: number;
    readonly memberId: string;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly offset: string;
        readonly metadata: string | null;
      }[];
    }[];
  }): Promise<unknown>;
  offsetFetch(request: {
    readonly groupId: string;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number }[];
    }[];
  }): Promise<{
    readonly responses: readonly {
      readonly topic: string;
      /** -1: nothing was committed. */
      readonly partitions: readonly {
        readonly partition: number;
        readonly offset: string;
        readonly metadata: string | null;
      }[];
    }[];
  }>;
}

export interface Joined {
  readonly generationId: number;
  readonly memberId: string;
  readonly leaderId: string;
  /** All members, if this member is the leader. */
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

/** Connections to the brokers for one group. After a failure a new one forgets what may be wrong. */
export interface GroupConnection {
  /** @throws what kafkajs throws, also GROUP_AUTHORIZATION_FAILED, which its own look-up hides */
  coordinator(): Promise<Coordinator>;
  /** Does not wait until the connections are closed: a dead broker takes its time. */
  drop(): void;
}

export function connectGroup(kafka: Kafka, groupId: string): GroupConnection {
  const cluster = readingCluster(kafka);
  let connected: Promise<void> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /**
   * One request after the other. When a session with the brokers is to be renewed (`connections.max.reauth.ms`), kafkajs
   * logs in before the next request, and takes the answer to a request that is under way for the answer to its login.
   */
  function inTurn<Request, Answer>(ask: (request: Request) => Promise<Answer>) {
    return (request: Request): Promise<Answer> => {
      const answer = last.then(() => ask(request));
      last = answer.catch(() => undefined);
      return answer;
    };
  }

  function asking(broker: Coordinator): Coordinator {
    return {
      joinGroup: inTurn((request) => broker.joinGroup(request)),
      syncGroup: inTurn((request) => broker.syncGroup(request)),
      heartbeat: inTurn((request) => broker.heartbeat(request)),
      leaveGroup: inTurn((request) => broker.leaveGroup(request)),
      describeGroups: inTurn((request) => broker.describeGroups(request)),
      deleteGroups: inTurn((groupIds) => broker.deleteGroups(groupIds)),
      offsetCommit: inTurn((request) => broker.offsetCommit(request)),
      offsetFetch: inTurn((request) => broker.offsetFetch(request)),
    };
  }

  return {
    async coordinator() {
      connected ??= cluster.connect().then(() => cluster.refreshMetadata());
      await connected;
      // All at once: a broker that hangs does not hold up the others.
      const answers = cluster.getNodeIds().map(async (nodeId) => {
        const broker = await cluster.findBroker({ nodeId });
        const { coordinator } = await broker.findGroupCoordinator({ groupId, coordinatorType: GROUP });
        return asking(
          (await cluster.findBroker({ nodeId: String(coordinator.nodeId) })) as Broker & Coordinator,
        );
      });
      return Promise.any(answers).catch(({ errors }: AggregateError) => {
        // The answer of a broker says more than the failure to reach another broker.
        throw (
          errors.find((error) => protocolType(error) !== null) ??
          errors[0] ??
          new Error('the cluster names no broker')
        );
      });
    },
    drop() {
      cluster.disconnect().catch(() => undefined);
    },
  };
}

const GROUP = 0;
