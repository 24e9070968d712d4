import { codecsOf } from './batches';
import { checkConnect } from './connect';
import { connectJars } from './connect-worker';
import { checkNoticed, damagedCopy } from './damage';
import { checkExample, examples, goProgram } from './examples';
import { javaProgram } from './java';
import { pythonProgram } from './python';
import { count, judgeInPython } from './python-judge';
import type { Results } from './results';
import { publish } from './scenario';
import { startServers } from './servers';

/**
 * The publisher on Kafka, read by programs in other languages: every topic by a judge in Python, and again after a copy was
 * damaged, which it must notice; by the examples of the README; and by Kafka Connect.
 * @param prefix of the topics; ends in a dot
 */
export async function checkOtherLanguages(folder: string, prefix: string, results: Results): Promise<void> {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  say('Other languages');
  // Missing tools are reported first.
  const interpreter = await pythonProgram();
  const program = await javaProgram();
  const go = await goProgram();
  const connect = await connectJars();
  results.ok('packages and programs are installed');

  const servers = await startServers();
  const copyPrefix = prefix.replace(/\.$/, '-damaged.');
  try {
    const { truthFile, writes } = await publish(servers, prefix, folder);
    results.ok(`a publisher was killed, ended and run once more while the API wrote ${writes} times`);

    say('A judge in Python (confluent-kafka, fastavro)');
    const topics = { servers, prefix, truthFile };
    const reading = await judgeInPython(interpreter, folder, topics);
    count(reading, results);

    say('Readers in Node, Python, Java and Go: the examples of the README');
    const held = reading.topics;
    const isOwn = ({ key }: { key: string }) => key === '__highwater_fence';
    for (const example of examples(interpreter, program, go)) {
      for (const topic of ['ipos.deal-status', 'ipos.current']) {
        const expected = held[topic]!.filter((record) => !isOwn(record));
        await checkExample(example, servers, prefix + topic, expected, results);
      }
    }
    if (servers.own !== null) {
      const codecs = codecsOf(servers.own, `${prefix}ipos.deal-status`);
      const told = [...codecs].map(([codec, batches]) => `${batches} ${codec}`).join(', ');
      results.check((codecs.get('gzip') ?? 0) > 0, `what kafkajs read there is compressed: ${told} batches`);
    }

    say('Kafka Connect (debezium-connect-plugins)');
    await checkConnect(connect, servers, prefix, held, folder, results);

    say('A damaged copy');
    const damages = await damagedCopy(interpreter, servers, prefix, copyPrefix);
    const copy = { ...topics, prefix: copyPrefix, copiedFrom: prefix };
    checkNoticed(await judgeInPython(interpreter, folder, copy), damages, results);
  } finally {
    await servers.stop(prefix.replace(/\.$/, ''));
  }
}
