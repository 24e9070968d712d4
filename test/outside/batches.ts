import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Kafka } from '../../tools/servers/kafka';

const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** How many batches of a topic the broker keeps in which codec, from its files; markers of transactions are left out. */
export function codecsOf(kafka: Kafka, topic: string): Map<string, number> {
  const counts = new Map<string, number>();
  const logs = path.join(kafka.folder, 'broker-1', 'logs');
  const partitions = readdirSync(logs).filter((name) => name.replace(/-\d+$/, '') === topic);
  for (const partition of partitions) {
    for (const name of readdirSync(path.join(logs, partition)).filter((file) => file.endsWith('.log'))) {
      const file = readFileSync(path.join(logs, partition, name));
      // Batch: first offset (8), length of the rest (4), leader epoch (4), version (1), checksum (4), attributes (2).
      for (let at = 0; at + 23 <= file.length; at += 12 + file.readInt32BE(at + 8)) {
        const attributes = file.readInt16BE(at + 21);
        const isControl = (attributes & 0x20) !== 0;
        const codec = codecs[attributes & 7] ?? 'unknown';
        if (!isControl) counts.set(codec, (counts.get(codec) ?? 0) + 1);
      }
    }
  }
  return counts;
}
