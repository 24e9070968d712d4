// Owns one feed and commits batches of 20 events, their images and a source offset. One line of JSON for each step.
const [, , dist, dataDir, feed, batches] = process.argv;
const { openLocalLog } = require(`${dist}/log/local/local-log`);
const { feedTopics } = require(`${dist}/log/topics`);

process.stdin.on('end', () => process.exit()).resume();

async function main() {
  const { commitLog } = openLocalLog({ dataDir, instance: 'the publisher of a test' });
  const topics = feedTopics({ name: feed, topic: feed, transitions: [] }, '');
  const { ownerEpoch, commit } = await commitLog.acquire(topics, new AbortController().signal);
  say({ committed: 0 });
  for (let n = 1; n <= Number(batches); n++) {
    const record = (topic, key) => ({
      topic: topic.name,
      key,
      value: Buffer.from(String(n)),
      headers: {},
      timestamp: Date.now(),
    });
    const ids = Array.from({ length: 20 }, (_, i) => `record ${i}`);
    const records = ids.flatMap((id) => [record(topics.changes, id), record(topics.current, id)]);
    records.push(record(topics.sourceOffset, feed));
    await commit({ feed, records, position: { incarnation: 'i1', ownerEpoch, commit: n } });
    say({ committed: n });
    await new Promise(setImmediate);
  }
}

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

main().catch(({ code, message }) => {
  say({ code, message });
  process.exitCode = 1;
  process.stdin.pause();
});
