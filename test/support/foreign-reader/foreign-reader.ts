import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { artefacts } from '../../../tools/servers/artefacts';
import { findJava } from '../../../tools/servers/java';
import { until } from '../until';

/** A committed record as Kafka's own consumer sees it. */
export interface ForeignRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** ms */
  readonly timestamp: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Buffer | null;
}

/**
 * Kafka's own consumer (`ReadTopics.java`) in a process of its own: it shares no code with the project. It reads committed records
 * without a group, so the broker does not know it.
 */
export interface ForeignReader {
  /**
   * Reads on to the ends of the topics as they are now: of a partition with an open transaction to the begin of that one.
   * @param topics `name`, or `prefix*`; one that is not there is empty
   * @returns all records of these topics, those of earlier reads too; in the order of the log per partition
   * @throws Error when the brokers do not answer in time; what was read until then is kept, and the next read goes on
   */
  read(...topics: string[]): Promise<readonly ForeignRecord[]>;
  /**
   * The same, once no transaction is open in these topics. A coordinator answers a commit before its markers are in all
   * partitions: who has just written and wants to see it reads so.
   * @throws Error when one is still open after 20 s
   */
  readSettled(...topics: string[]): Promise<readonly ForeignRecord[]>;
  /** Drops the read records: the next read begins at the beginning. */
  rewind(): Promise<void>;
  stop(): Promise<void>;
}

interface JsonRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
  readonly value: string | null;
}

const program = path.join(__dirname, 'ReadTopics.java');
const quickStart = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', '-Xmx512m'];

/** @param commandMs how long one read may take */
export async function startForeignReader(
  brokers: string,
  { commandMs = 20_000 } = {},
): Promise<ForeignReader> {
  const [java, { kafka }] = [await findJava(), await artefacts()];
  const log = '-Dorg.slf4j.simpleLogger.defaultLogLevel=error';
  const args = [...quickStart, log, '-cp', path.join(kafka, '*'), program, brokers, String(commandMs)];
  // It ends with its stdin, so never later than this process.
  const child = spawn(java, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  child.stdin.on('error', () => undefined);
  const exited = once(child, 'exit');

  let records: ForeignRecord[] = [];
  let answered: (outcome: Error | number) => void = () => undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const told = JSON.parse(line) as JsonRecord | { end: number } | { error: string };
    if ('end' in told) answered(told.end);
    else if ('error' in told) answered(new Error(Buffer.from(told.error, 'base64').toString()));
    else records.push(recordOf(told));
  });
  child.once('exit', (code) => answered(new Error(`the foreign reader ended with ${code}: ${complaints}`)));

  let queue: Promise<unknown> = Promise.resolve();
  /** One at a time: the answers come in the order of the commands. */
  function command(...words: string[]): Promise<number> {
    const done = queue.then(
      () =>
        new Promise<number>((resolve, reject) => {
          if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`the foreign reader has ended: ${complaints}`);
          answered = (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
          child.stdin.write(`${words.join('\t')}\n`);
        }),
    );
    queue = done.catch(() => undefined);
    return done;
  }

  async function read(...topics: string[]): Promise<readonly ForeignRecord[]> {
    await command('read', ...topics);
    return records.filter(({ topic }) => topics.some((wanted) => isMeant(topic, wanted)));
  }

  return {
    read,
    async readSettled(...topics) {
      await until(async () => (await command('open', ...topics)) === 0);
      return read(...topics);
    },
    async rewind() {
      await command('rewind');
      records = [];
    },
    async stop() {
      child.stdin.end();
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** All that is committed in the topics as of now. */
export async function readTopics(brokers: string, ...topics: string[]): Promise<readonly ForeignRecord[]> {
  const reader = await startForeignReader(brokers);
  try {
    return await reader.readSettled(...topics);
  } finally {
    await reader.stop();
  }
}

function isMeant(topic: string, wanted: string): boolean {
  return wanted.endsWith('*') ? topic.startsWith(wanted.slice(0, -1)) : topic === wanted;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function recordOf({ key, headers, value, ...rest }: JsonRecord): ForeignRecord {
  const named: Record<string, string> = {};
  for (const [name, content] of headers.map((pair) => pair.map((part) => part && text(part)))) {
    if (name! in named)
      throw new Error(`${rest.topic}/${rest.partition}@${rest.offset} has header ${name} twice`);
    named[name!] = content ?? '';
  }
  return {
    ...rest,
    key: key === null ? null : text(key),
    headers: named,
    value: value === null ? null : Buffer.from(value, 'base64'),
  };
}

/** @throws TypeError if it is not UTF-8 */
function text(base64: string): string {
  return utf8.decode(Buffer.from(base64, 'base64'));
}
