import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { notFound } from '../errors.ts'
import { PAGE_HEADERS } from './headers.ts'

/** The folder of the built web application, from the source and from a bundle. */
const DIST = join(import.meta.dirname, '../../../web/dist')

/** Paths that look like files are answered 404: the application's page would hide that the file is missing. */
const FILE = /\.(?:css|gif|ico|jpe?g|js|json|map|mjs|png|svg|txt|webmanifest|webp|woff2?|xml)$/i

/**
 * Serves the web application in `dist`: its files, and its page for every path of the application, so that links into
 * it work. Without a build, as in tests, nothing is served.
 */
export async function serveWeb(server: FastifyInstance, dist = DIST) {
  const page = await readFile(join(dist, 'index.html'), 'utf8').catch(() => undefined)
  if (page === undefined) return
  const headers = { ...PAGE_HEADERS, 'content-security-policy': contentPolicy(page), 'cache-control': 'no-cache' }
  await server.register(fastifyStatic, {
    root: join(dist, 'assets'),
    prefix: '/assets/',
    index: false,
    // A route for each file: no path of a request is looked up on the disk.
    wildcard: false,
    // The names of built files contain a hash of their content.
    immutable: true,
    maxAge: '365d',
  })
  for (const path of ['/', '/app', '/app/*']) {
    server.get(path, async (request, reply) => {
      if (!wantsPage(request)) throw notFound('page')
      return reply.headers(headers).type('text/html; charset=utf-8').send(page)
    })
  }
  // Other files beside the page, such as its icon, keep their names when they change.
  for (const entry of await readdir(dist, { withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'index.html') continue
    server.get(`/${entry.name}`, async (_, reply) =>
      reply.sendFile(entry.name, dist, { immutable: false, maxAge: '1h' }),
    )
  }
}

function wantsPage(request: FastifyRequest) {
  const accept = request.headers.accept ?? '*/*'
  return /text\/(?:html|\*)|\*\/\*/.test(accept) && !FILE.test(request.url.split('?', 1)[0] ?? '')
}

/** Allows scripts from our own files only; the inline scripts of the page are allowed by their hashes. */
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
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'self'",
  ].join('; ')
}
