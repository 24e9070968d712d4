import { existsSync } from 'node:fs';
import path from 'node:path';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Built by `npm run build`. A program that runs from its sources uses the files that were built beside them. */
const folders = [
  path.join(__dirname, '..', 'page'),
  path.join(__dirname, '..', '..', '..', 'dist', 'admin', 'page'),
];

const files: Readonly<Record<string, string>> = {
  '/': 'index.html',
  '/page.js': 'page.js',
  '/page.css': 'page.css',
  '/licences.txt': 'licences.txt',
};

/** Where the page's files are asked for: they hold no data. */
export const pageRoutes: readonly string[] = Object.keys(files);

/** Serves the files of the dashboard's page. Browsers keep them, and ask each time whether they are the same. */
export function servePage(app: FastifyInstance): void {
  for (const [route, file] of Object.entries(files))
    app.get(route, (request, reply) => sendFile(file, request, reply));
}

async function sendFile(file: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const root = folders.find((folder) => existsSync(path.join(folder, 'page.js')));
  if (root === undefined) {
    const missing = 'The page is not built. Run `npm run build` where highwater was checked out.\n';
    return reply.code(404).type('text/plain; charset=utf-8').send(missing);
  }
  const found = await send(request.raw, file, { root, cacheControl: false });
  if (found.type === 'error') return reply.code(found.statusCode).send({ error: 'not found' });
  return reply
    .code(found.statusCode)
    .headers({ ...found.headers, 'cache-control': 'no-cache' })
    .send(found.stream);
}
