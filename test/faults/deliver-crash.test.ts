import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openLocalLog } from '../../src/log/local/local-log';
import { freePort } from '../../tools/servers/ports';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { type CliProcess, commandLine, nodePrograms } from '../support/cli';
import { endsWithTest } from '../support/ends';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** `highwater deliver` and its receiver, each killed again and again in the middle of their work. */

const deliver = commandLine();
const program = nodePrograms();
const folder = tempFolder();
const KILLS = 20;
const KEYS = 10;

const receivedFile = () => path.join(folder(), 'received');

/** A line that the receiver was killed in has no end. */
function received(): readonly { readonly id: string; readonly body: string }[] {
  if (!existsSync(receivedFile())) return [];
  const lines = readFileSync(receivedFile(), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** Writes a change of each record at once. */
async function writeRound(writer: ChangeWriter, round: number): Promise<void> {
  await writer.write(
    ...Array.from({ length: KEYS }, (_, key) => ({
      id: `k${key}`,
      status: `s${String(round).padStart(4, '0')}`,
    })),
  );
}

it.each(['deliver', 'receiver'] as const)(
  '%s is killed 20 times: nothing is lost, and repeats have the same id',
  async (victim) => {
    const { commitLog, registry } = openLocalLog({ dataDir: folder() });
    endsWithTest(() => commitLog.close());
    const writer = await changeWriter({ commitLog, registry }, '');
    endsWithTest(() => writer.close());
    const port = await freePort();
    writeFileSync(
      path.join(folder(), 'highwater.yaml'),
      `dataDir: ${folder()}\ndeliveries:\n  desk: { topics: [ipos.deal-status], from: beginning, to: { webhook: "http://127.0.0.1:${port}" } }\n`,
    );
    const starts = {
      deliver: () => deliver(['deliver'], { cwd: folder() }),
      receiver: () =>
        program([
          path.join(__dirname, '..', 'support', 'webhook-receiver.cjs'),
          String(port),
          receivedFile(),
        ]),
    };
    const running: Record<string, CliProcess> = { receiver: starts.receiver(), deliver: starts.deliver() };
    let rounds = 0;
    const distinct = () => new Set(received().map(({ id }) => id)).size;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = distinct();
      for (let more = 0; more < 3; more++) await writeRound(writer, rounds++);
      // In the middle of these, at another event each time.
      await until(() => distinct() > before + kill);
      running[victim]!.signal('SIGKILL');
      await running[victim]!.ended();
      running[victim] = starts[victim]();
    }
    await until(() => distinct() === rounds * KEYS);

    const bodies = new Map<string, string>();
    const last = new Map<string, string>();
    for (const { id, body } of received()) {
      expect(bodies.get(id) ?? body).toBe(body);
      const isRepeated = bodies.has(id);
      bodies.set(id, body);
      const { data } = JSON.parse(body) as { data: { id: string; status: string } };
      if (!isRepeated) expect(data.status > (last.get(data.id) ?? '')).toBe(true);
      if (!isRepeated) last.set(data.id, data.status);
    }
    expect(bodies.size).toBe(rounds * KEYS);
  },
);
