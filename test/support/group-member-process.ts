import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { until } from './until';

/** A member of a consumer group in a process of its own, which ends with this one at the latest. */
export interface MemberProcess {
  /** `key value` of records that it handled and committed. */
  readonly handled: string[];
  /** `key value` of records that it began to handle. */
  readonly begun: string[];
  /** Codes of what reading and committing threw. */
  readonly failures: string[];
  /** What Node.js warned of. */
  readonly warnings: string[];
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Lets a member that holds its record finish it. */
  goOn(): void;
  /** SIGKILL: it has no say in it. */
  kill(): Promise<void>;
}

interface MemberProcessOptions {
  readonly brokers: string;
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  /** It commits nothing before `goOn`. */
  readonly holds?: boolean;
}

const script = `
const { openKafkaConsumerLog } = require('./src/log/kafka/consumer-log');
const { startMember } = require('./test/support/group-members');
const { quietLogger } = require('./test/support/source');
const { brokers, holds, ...options } = JSON.parse(process.env.MEMBER);
const kafka = { brokers: brokers.split(','), ssl: null, sasl: null, compression: 'none' };
const log = openKafkaConsumerLog({ kafka, appId: 'test', topicPrefix: '', logger: quietLogger() });
const say = (kind, records) => console.log(JSON.stringify({ [kind]: records }));
const texts = (records) => records.map(({ key, value }) => key + ' ' + value);
process.on('warning', (warning) => say('warnings', [String(warning)]));
let goOn;
const told = holds ? new Promise((resolve) => { goOn = resolve; }) : Promise.resolve();
process.stdin.on('data', () => goOn());
process.stdin.on('end', () => process.exit());
const member = startMember(log, {
  ...options,
  async handle(batch) {
    say('begun', texts(batch));
    await told;
  },
});
const tell = (list, kind, text) => {
  const push = list.push.bind(list);
  list.push = (...items) => {
    say(kind, items.map(text));
    return push(...items);
  };
};
tell(member.handled, 'handled', ({ key, value }) => key + ' ' + value);
tell(member.failures, 'failures', ({ code, message }) => code ?? message);
`;

export function startMemberProcess(options: MemberProcessOptions): MemberProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
    cwd: path.resolve(__dirname, '..', '..'),
    env: { ...process.env, MEMBER: JSON.stringify(options) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lists: Record<'handled' | 'begun' | 'failures' | 'warnings', string[]> = {
    handled: [],
    begun: [],
    failures: [],
    warnings: [],
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    for (const [kind, texts] of Object.entries(JSON.parse(line) as Record<keyof typeof lists, string[]>))
      lists[kind as keyof typeof lists].push(...texts);
  });
  return {
    ...lists,
    signal: (name) => void child.kill(name),
    goOn: () => void child.stdin.write('\n'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await until(() => child.stdout.readableEnded);
    },
  };
}
