import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { notFound } from '../errors.ts'
import { digestOf } from './raw-json.ts'
import { PAGE_HEADERS, entityTag, isMatched } from './write.ts'

/** Directory of the built web application, the same from the source and from a bundle. */
const DIST = join(import.meta.dirname, '../../../web/dist')

/** Paths of files get 404 instead of the page, so that missing files are noticed. */
const FILE = /\.(?:css|gif|ico|jpe?g|js|json|map|mjs|png|svg|txt|webmanifest|webp|woff2?|xml)$/i

const BASE = '<base href="/" />'
const NONCE = '<meta name="csp-nonce" content="" />'

type WebOptions = { dist?: string | undefined; basePath: string }

/** Serves the web application in `dist`: its files, and its page for every path of the application. Without a build nothing is served. */
export async function serveWeb(server: FastifyInstance, { dist = DIST, basePath }: WebOptions) {
  const built = await readFile(join(dist, 'index.html'), 'utf8').catch(() => undefined)
  if (built === undefined) return
  await server.register(fastifyStatic, {
    root: join(dist, 'assets'),
    prefix: '/assets/',
    index: false,
    // One route per file, so that no path of a request is looked up on the disk.
    wildcard: false,
    // The build has compressed each file; `preCompressed` selects a variant.
    globIgnore: ['**/*.br', '**/*.gz'],
    preCompressed: true,
    // The names of built files contain a hash of their content.
    immutable: true,
    maxAge: '365d',
  })
  await serveOtherThemes(server, dist)
  servePage(server, built.replace(BASE, `<base href="${basePath}/" />`))
  // Names of other files next to the page, such as its icon, do not change with their content.
  for (const entry of await readdir(dist, { withFileTypes: true })) {
    if (!entry.isFile() || /^index\.html$|\.(?:br|gz)$/.test(entry.name)) continue
    server.get(`/${entry.name}`, async (_, reply) =>
      reply.sendFile(entry.name, dist, { immutable: false, maxAge: '1h' }),
    )
  }
}

/**
 * Serves the script that sets the theme under the names that it has in other versions. It also reloads a page whose other files are missing, because
 * this server has another version than the one that sent the page.
 */
async function serveOtherThemes(server: FastifyInstance, dist: string) {
  const own = (await readdir(join(dist, 'assets'))).find((name) => THEME.test(name))
  if (own === undefined) return
  server.get<{ Params: { file: string } }>('/assets/:file', async ({ params }, reply) => {
    if (!THEME.test(params.file)) throw notFound('file')
    return reply.header('cache-control', 'no-store').sendFile(own, join(dist, 'assets'), { cacheControl: false })
  })
}

const THEME = /^theme-[\w-]+\.js$/

function servePage(server: FastifyInstance, page: string) {
  // The policy is part of the tag, since browsers cache it with the page.
  const tag = entityTag(digestOf(`${contentPolicy('')}\n${page}`))
  const headers = { ...PAGE_HEADERS, 'cache-control': 'private, no-cache', etag: tag }
  for (const path of ['/', '/app', '/app/*', '/docs', '/docs/*']) {
    server.get(path, async (request, reply) => {
      if (!wantsPage(request)) throw notFound('page')
      reply.headers(headers)
      // Without a policy, since the cached page and its cached policy have the same nonce.
      if (isMatched(request.headers['if-none-match'], tag)) return reply.code(304).send()
      const nonce = randomBytes(16).toString('base64')
      return reply
        .header('content-security-policy', contentPolicy(nonce))
        .type('text/html; charset=utf-8')
        .send(Buffer.from(page.replace(NONCE, `<meta name="csp-nonce" content="${nonce}" />`)))
    })
  }
}

function wantsPage(request: FastifyRequest) {
  const accept = request.headers.accept ?? '*/*'
  return /text\/(?:html|\*)|\*\/\*/.test(accept) && !FILE.test(request.url.split('?', 1)[0] ?? '')
}

/**
 * Allows only our own files. The nonce is for styles that the editor adds at run time. Images of other servers are blocked, since requests for
 * them would reveal who reads what.
 */
function contentPolicy(nonce: string) {
  return [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'self'",
  ].join('; ')
}
