import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** Where the build of the web application lies, from the source and from a bundle. */
const DIST = join(import.meta.dirname, '../../../web/dist')

/**
 * Serves the web application: its files, and its page for every path that is the application's own, so that a link into
 * it works. Without a build (in tests) there is nothing to serve.
 */
export async function serveWeb(server: FastifyInstance) {
  const page = await readFile(join(DIST, 'index.html'), 'utf8').catch(() => undefined)
  if (page === undefined) return
  const headers = { 'content-security-policy': contentPolicy(page), 'cache-control': 'no-cache' }
  await server.register(fastifyStatic, {
    root: join(DIST, 'assets'),
    prefix: '/assets/',
    // Names of built files carry a hash of their content.
    immutable: true,
    maxAge: '365d',
    decorateReply: false,
  })
  for (const path of ['/', '/app', '/app/*']) {
    server.get(path, async (_, reply) => reply.headers(headers).type('text/html; charset=utf-8').send(page))
  }
}

/** Scripts from our own files only; the few inline ones in the page are allowed by their hashes. */
function contentPolicy(page: string) {
  const hashes = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  )
  return [
    "default-src 'self'",
    `script-src 'self' ${hashes.join(' ')}`.trim(),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ')
}
