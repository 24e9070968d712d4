// A receiver of webhooks that a test may kill: writes down what it got before it answers. Arguments: port, file.
const { appendFileSync } = require('node:fs');
const { createServer } = require('node:http');

const [, , port, file] = process.argv;
createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    appendFileSync(file, `${JSON.stringify({ id: request.headers['webhook-id'], body })}\n`);
    response.end();
  });
}).listen(Number(port), '127.0.0.1');
