import type { GroupDescriptions, Kafka, PartitionOffset } from 'kafkajs';
import {
  type Broker,
  brokerIds,
  type Cluster,
  drop,
  type OfTopic,
  readingCluster,
} from '../connection/cluster';
import { noteBrokers, protocolType } from '../connection/kafka-failure';

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
    /** The assignments of all members; empty unless this member leads the group. */
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
    readonly topics: readonly OfTopic<GroupOffset>[];
  }): Promise<unknown>;
  offsetFetch(request: {
    readonly groupId: string;
    readonly topics: readonly OfTopic<{ readonly partition: number }>[];
  }): Promise<{ readonly responses: readonly OfTopic<GroupOffset>[] }>;
}

/** `offset` -1: the group never committed. */
interface GroupOffset extends PartitionOffset {
  readonly metadata: string | null;
}

export interface Joined {
  readonly generationId: number;
  readonly memberId: string;
  readonly leaderId: string;
  /** All members, if this member is the leader. */
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

/** The connection of one group to its coordinator. After `drop` it opens new connections, which forgets data that may be wrong. */
export class CoordinatorLink {
  /** The broker that keeps the group; null while it is looked for. */
  coordinator: Coordinator | null = null;
  private cluster: Cluster | null = null;
  private connected: Promise<void> | null = null;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly kafka: Kafka,
    private readonly groupId: string,
  ) {}

  /** @throws what kafkajs throws, also GROUP_AUTHORIZATION_FAILED, which its own look-up hides */
  async connect(): Promise<Coordinator> {
    this.cluster ??= readingCluster(this.kafka);
    const { cluster, groupId } = this;
    this.connected ??= cluster.connect().then(() => cluster.refreshMetadata());
    await this.connected;
    // All at once: a broker that hangs does not hold up the others.
    const answers = brokerIds(cluster).map(async (nodeId) => {
      const broker = await cluster.findBroker({ nodeId });
      const { coordinator } = await broker.findGroupCoordinator({ groupId, coordinatorType: GROUP });
      const found = await cluster.findBroker({ nodeId: String(coordinator.nodeId) });
      return this.asking(found as Broker & Coordinator);
    });
    return Promise.any(answers).catch(({ errors }: AggregateError) => {
      // The answer of a broker says more than the failure to reach another broker.
      const error = errors.find((error) => protocolType(error) !== null) ?? errors[0];
      throw noteBrokers(error, error, errors.length);
    });
  }

  drop(): void {
    if (this.cluster !== null) drop(this.cluster);
    this.cluster = null;
    this.connected = null;
    this.coordinator = null;
    this.last = Promise.resolve();
  }

  private asking(broker: Coordinator): Coordinator {
    return {
      joinGroup: this.inTurn((request) => broker.joinGroup(request)),
      syncGroup: this.inTurn((request) => broker.syncGroup(request)),
      heartbeat: this.inTurn((request) => broker.heartbeat(request)),
      leaveGroup: this.inTurn((request) => broker.leaveGroup(request)),
      describeGroups: this.inTurn((request) => broker.describeGroups(request)),
      deleteGroups: this.inTurn((groupIds) => broker.deleteGroups(groupIds)),
      offsetCommit: this.inTurn((request) => broker.offsetCommit(request)),
      offsetFetch: this.inTurn((request) => broker.offsetFetch(request)),
    };
  }

  /**
   * One request after the other. When a session with the brokers is to be renewed (`connections.max.reauth.ms`), kafkajs
   * logs in before the next request, and takes the answer to a request that is under way for the answer to its login.
   */
  private inTurn<Request, Answer>(ask: (request: Request) => Promise<Answer>) {
    return (request: Request): Promise<Answer> => {
      const answer = this.last.then(() => ask(request));
      this.last = answer.catch(() => undefined);
      return answer;
    };
  }
}

const GROUP = 0;
