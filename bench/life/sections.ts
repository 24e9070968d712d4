import path from 'node:path';
import { median, ratio, short, whole } from '../measure/figures';
import { type Column, table } from '../measure/table';
import { histogram } from './histogram';
import type { Blocks } from './parts/blocks';
import type { Latency, LatencyInput } from './parts/latency';
import type { Polls, PollsInput } from './parts/polls';
import type { ReadTopic, ReadTopicInput } from './parts/read-topic';
import type { Restored, RestoredInput } from './parts/restore';
import type { SnapshotMarks } from './parts/snapshot';
import { secondsOfRun } from './publisher';
import { streamsTables } from './streams/streams-table';
import { type LogName, runPart, type World } from './world';

/** One question to the product's daily life: what is measured, as text. */
export interface Section {
  readonly name: string;
  readonly title: string;
  measure(world: World): Promise<string>;
}

const left = (head: string): Column => ({ head, align: 'left' });
const right = (head: string): Column => ({ head, align: 'right' });

const LOG_TITLES: Readonly<Record<LogName, string>> = { embedded: 'embedded log', kafka: 'Kafka' };

function sizes({ isShort, isFull }: World): { readonly small: number; readonly large: number } {
  if (isShort) return { small: 200, large: 2_000 };
  return { small: 1_000, large: isFull ? 1_000_000 : 100_000 };
}

async function perLog(world: World, of: (log: LogName) => Promise<string>): Promise<string> {
  const texts: string[] = [];
  for (const log of world.logs) texts.push(`${LOG_TITLES[log]}\n${await of(log)}`);
  return texts.join('\n');
}

const latency: Section = {
  name: 'latency',
  title: 'Latency: from the end of an answer with 1 to 10 changes until they are committed',
  measure: (world) =>
    perLog(world, async (log) => {
      const setup = await world.own(log, sizes(world).small);
      const input: LatencyInput = {
        setup,
        ...(world.isShort ? { pages: 30, warmUp: 5, pauseMs: 20 } : { pages: 500, warmUp: 50, pauseMs: 400 }),
      };
      const found = await runPart<Latency>('latency', input);
      const commit = `of it the transaction: p50 ${short(median(found.transactions))} ms`;
      const rows = `rows in a page: ${short(median(found.rows))}, changes ${short(median(found.changes))} (medians)`;
      return `${histogram(found.pages)}\n${commit}; ${rows}\n`;
    }),
};

const start: Section = {
  name: 'start',
  title: 'Start: seconds of `highwater run --once`, from the command to its end; median of rounds',
  measure: (world) =>
    perLog(world, async (log) => {
      const { small, large } = sizes(world);
      const rounds = world.isShort ? 1 : 5;
      const first: number[] = [];
      for (let i = 0; i < rounds; i++) first.push(await secondsOfRun(await world.empty(log, small)));
      const { setup } = await world.filled(log, large);
      const again: number[] = [];
      for (let i = 0; i < rounds; i++) again.push(await secondsOfRun(setup));
      const columns = [`first start, ${whole(small)} records`, `restart, ${whole(large)} images`];
      return table(columns.map(right), [[median(first), median(again)].map(short)]);
    }),
};

const steady: Section = {
  name: 'steady',
  title: 'Steady state: polls without changes',
  measure: (world) =>
    perLog(world, async (log) => {
      const { small, large } = sizes(world);
      const rows: string[][] = [];
      const costs: number[] = [];
      for (const records of [small, large]) {
        const { setup } = await world.filled(log, records);
        const counts = world.isShort ? { warmUp: 20, polls: 50 } : { warmUp: 200, polls: 600 };
        const all: Polls[] = [];
        for (let i = 0; i < (world.isShort ? 1 : 3); i++) {
          all.push(await runPart<Polls>('polls', { setup, ...counts, idleMs: 0 } satisfies PollsInput));
        }
        const best = all.reduce((least, one) => (one.cpuMs < least.cpuMs ? one : least));
        const idle = await runPart<Polls>('polls', {
          setup: { ...setup, pollInterval: '10m' },
          ...{ warmUp: 1, polls: 0, idleMs: world.isShort ? 500 : 20_000 },
        } satisfies PollsInput);
        const cpu = best.cpuMs / best.polls;
        costs.push(cpu);
        const idlePart = idle.cpuMs / idle.wallMs;
        const hourCpu = (60 * cpu) / 1_000 + 3_600 * idlePart;
        rows.push([
          whole(best.records),
          short(cpu),
          short(median(all.map((one) => one.cpuMs / one.polls))),
          short(best.pollingMs / best.polls),
          short(best.requests / best.polls),
          short(best.transactions / best.polls),
          short(best.bytes / best.polls),
          short(best.rows / best.polls),
          `${short(idlePart * 1_000)}`,
          short(hourCpu),
          short((60 * best.bytes) / best.polls / 1_024),
        ]);
      }
      const columns = [
        'records',
        'CPU ms a poll',
        'median',
        'ms a poll',
        'requests',
        'commits',
        'bytes',
        'rows',
        'idle ms CPU a s',
        'hour: CPU s',
        'hour: KiB',
      ].map(right);
      const note = 'The hour is 60 polls of that cost and the time between them, from figures of minutes.';
      return `${table(columns, rows)}CPU a poll, ${whole(large)} against ${whole(small)} records: ${ratio(costs[1]!, costs[0]!)} (goal: at most 1.2). ${note}\n`;
    }),
};

const MIB = 2 ** 20;

const restored = (input: RestoredInput) => runPart<Restored>('restore', input);

const memory: Section = {
  name: 'memory',
  title: 'Memory and restore: a restarted publisher, before its first poll',
  measure: (world) =>
    perLog(world, async (log) => {
      const rows: string[][] = [];
      const { small, large } = sizes(world);
      for (const records of world.isFull ? [small, large, 10 * large] : [small, large]) {
        const { setup, marks } = await world.filled(log, records);
        const { imageBytes, seconds, cpuMs, rss, ...found } = await restored({ setup, from: 'log' });
        const kept = await restored({ setup, from: 'kept' });
        const standby = log === 'kafka' ? await restored({ setup, from: 'standby' }) : null;
        const mib = (bytes: number) => whole(bytes / MIB);
        rows.push([
          whole(found.records),
          mib(imageBytes),
          mib(rss.before),
          mib(rss.peak),
          mib(rss.settled),
          mib(marks.at(-1)!.peakRssBytes),
          short(seconds),
          whole(found.records / seconds),
          short((cpuMs * 1_000) / found.records),
          short(kept.seconds),
          mib(kept.rss.settled),
          short(kept.keepSeconds),
          ...(standby === null
            ? []
            : [
                short(standby.copied!.seconds),
                mib(standby.copied!.rss),
                short(standby.seconds),
                mib(standby.rss.peak),
              ]),
        ]);
      }
      const columns = [
        'records',
        'images MiB',
        'RSS before',
        'peak',
        'settled',
        'first snapshot',
        'seconds',
        'records/s',
        'µs CPU',
        's from kept',
        'settled',
        's to keep',
        ...(log === 'kafka' ? ['s to copy', 'settled', 's to take over', 'peak'] : []),
      ].map(right);
      return table(columns, rows);
    }),
};

const streams: Section = {
  name: 'streams',
  title: 'Kafka Streams: the same images as a table in RocksDB, exactly once; heap of 512 MiB',
  async measure(world) {
    const { small, large } = sizes(world);
    const rows: string[][] = [];
    for (const records of world.isFull ? [small, large, 10 * large] : [small, large]) {
      const { setup } = await world.filled('kafka', records);
      const { brokers, prefix } = setup.kafka!;
      const folder = path.join(setup.dataDir, 'streams');
      const { first, lost, kept } = await streamsTables({
        brokers,
        topic: `${prefix}ipos.current`,
        records,
        folder,
      });
      const mib = (...of: number[]) => of.map((bytes) => whole(bytes / MIB));
      rows.push([
        ...[whole(records), short(first.seconds), short(lost.seconds), ...mib(lost.rss, lost.peak)],
        ...[short(kept.seconds), ...mib(kept.rss)],
      ]);
    }
    const columns = ['records', 's new', 's from the topic', 'settled MiB', 'peak', 's from kept', 'settled'];
    return table(columns.map(right), rows);
  },
};

const blocks: Section = {
  name: 'blocks',
  title: 'Blocks: the longest time that the event loop stands still, ms (goal: 100)',
  measure: (world) =>
    perLog(world, async (log) => {
      const rows: string[][] = [];
      const { small, large } = sizes(world);
      for (const count of [small, large]) {
        const { setup } = await world.filled(log, count);
        const { records, restore, keep, warmRestore, polls, reconcile, snapshot } = await runPart<Blocks>(
          'blocks',
          setup,
        );
        rows.push([whole(records), ...[restore, keep, warmRestore, polls, reconcile, snapshot].map(short)]);
      }
      const columns = [
        'records',
        'restore',
        'keep',
        'restore, kept',
        'polls',
        'reconcile, one is missing',
        'another snapshot',
      ].map(right);
      return table(columns, rows);
    }),
};

const growth: Section = {
  name: 'growth',
  title: 'Growth: a first snapshot as it gets larger',
  measure: (world) =>
    perLog(world, async (log) => {
      const { marks } = await world.filled(log, sizes(world).large);
      const rows = marks.map((mark, i) => {
        const before = marks[i - 1] ?? { records: 0, cpuMs: 0, wallMs: 0 };
        const more = mark.records - before.records;
        return [
          whole(mark.records),
          short((mark.cpuMs * 1_000) / mark.records),
          short(((mark.cpuMs - before.cpuMs) * 1_000) / more),
          whole((more * 1_000) / (mark.wallMs - before.wallMs)),
          whole(mark.peakRssBytes / MIB),
        ];
      });
      const at = (records: number) => marks.find((mark) => mark.records >= records);
      const [first, last] = [at(10_000), marks.at(-1)!];
      const each = (mark: (typeof marks)[number]) => mark.cpuMs / mark.records;
      const compared =
        first === undefined || first === last
          ? ''
          : `CPU a record, ${whole(last.records)} against ${whole(first.records)}: ${ratio(each(last), each(first))} (goal: at most 1.3)\n`;
      const columns = [
        left('records so far'),
        ...['µs CPU each', 'µs of the latest', 'records/s of them', 'peak RSS MiB'].map(right),
      ];
      return `${table(columns, rows)}${compared}`;
    }),
};

const read: Section = {
  name: 'read',
  title: 'Consumer: a topic of Kafka read by a group, beside kafkajs and registry.decode',
  async measure(world) {
    const { setup } = await world.filled('kafka', sizes(world).large);
    const events = sizes(world).large;
    const rows: string[][] = [];
    for (let i = 0; i < (world.isShort ? 1 : 3); i++) {
      for (const way of ['highwater', 'kafkajs'] as const) {
        const input: ReadTopicInput = { ...setup.kafka!, way, events, group: `${way}-${i}` };
        const { events: counted, usage } = await runPart<ReadTopic>('read-topic', input);
        const rate = whole((counted * 1_000) / usage.wallMs);
        rows.push([way, rate, short((usage.cpuMs * 1_000) / counted), whole(usage.peakRssBytes / MIB)]);
      }
    }
    return table([left('consumer'), ...['events/s', 'µs CPU', 'RSS MiB'].map(right)], rows);
  },
};

const CODECS = ['gzip', 'lz4', 'zstd', 'none'] as const;

const codecs: Section = {
  name: 'codecs',
  title: 'Codecs: a first snapshot into Kafka, whose events a group then reads; medians of rounds in turn',
  async measure(world) {
    const { large: records } = sizes(world);
    const broker = await world.broker();
    const found = new Map<string, number[][]>(CODECS.map((codec) => [codec, []]));
    for (let round = 0; round < (world.isShort ? 1 : 3); round++) {
      for (const compression of CODECS) {
        const setup = { ...(await world.empty('kafka', records)), compression };
        const kafka = setup.kafka!;
        const cpu = [broker.cpuMs()];
        const { marks } = await runPart<SnapshotMarks>('snapshot', { setup, marks: [records] });
        cpu.push(broker.cpuMs());
        const input: ReadTopicInput = { ...kafka, way: 'highwater', events: records, group: 'codecs' };
        const { events, usage } = await runPart<ReadTopic>('read-topic', input);
        cpu.push(broker.cpuMs());
        const { wallMs, cpuMs } = marks[0]!;
        found
          .get(compression)!
          .push([
            (records * 1_000) / wallMs,
            ...[cpuMs, cpu[1]! - cpu[0]!].map((ms) => (ms * 1_000) / records),
            ...[usage.cpuMs, cpu[2]! - cpu[1]!].map((ms) => (ms * 1_000) / events),
            broker.logBytes(kafka.prefix) / records,
          ]);
        await broker.deleteTopics(kafka.prefix);
      }
    }
    const rows = [...found].map(([codec, rounds]) => {
      const medians = rounds[0]!.map((_, i) => median(rounds.map((round) => round[i]!)));
      return [codec, whole(medians[0]!), ...medians.slice(1, -1).map(short), whole(medians.at(-1)!)];
    });
    const columns = ['records/s', 'µs CPU', 'of the broker', 'to read', 'of the broker', 'bytes a record'];
    return table([left('codec'), ...columns.map(right)], rows);
  },
};

export const sections: readonly Section[] = [
  latency,
  start,
  growth,
  memory,
  streams,
  steady,
  read,
  blocks,
  codecs,
];
