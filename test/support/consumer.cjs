// A program of a user: a member of the group of CONSUMER_GROUP, which prints what it is given of the topic in its argument.
const [, , dist, topic] = process.argv;
const { connect } = require(`${dist}/consumer`);

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
connect().consume(
  { group: process.env.CONSUMER_GROUP, topics: [topic], from: 'beginning', signal: stop.signal },
  ({ id }) => void process.stdout.write(`${id}\n`),
);
