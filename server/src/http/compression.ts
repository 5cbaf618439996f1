import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'

const DOCUMENT = /json\b/
const TEXT = /^(?:application\/(?:vnd\.api\+)?json|text\/html|image\/svg\+xml)\b/
/** Smaller responses fit into one packet or two; in bytes. */
const SMALL = 2 * 1024
/** Smaller documents fit into the first packets, and engines request many of them; in bytes. Browsers announce themselves and get less. */
const SMALL_DOCUMENT = 12 * 1024
/** Compressing larger responses, such as JSON plans, takes longer than sending them over most networks; in bytes. */
const LARGE = 8 * 1024 * 1024
/** Lists of resources shrink to about a tenth at this level. */
const LEVEL = 4

/**
 * Compresses documents and pages for clients that accept gzip, outside the event loop, except streams and `no-store` responses: the compressed
 * size of a page with a secret would reveal other content.
 */
export function compressResponses(server: FastifyInstance) {
  server.addHook('onSend', async (request, reply, content) => {
    if (!Buffer.isBuffer(content) || content.length < SMALL || content.length > LARGE) return content
    const type = String(reply.getHeader('content-type') ?? '')
    if (!isCompressible(reply, type)) return content
    const isBrowser = request.headers['sec-fetch-site'] !== undefined
    if (content.length < SMALL_DOCUMENT && !isBrowser && DOCUMENT.test(type)) return content
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
    if (!takesGzip(request.headers['accept-encoding'])) return content
    reply.header('content-encoding', 'gzip').removeHeader('content-length')
    return promisify(gzip)(content, { level: LEVEL })
  })
}

function isCompressible(reply: FastifyReply, type: string) {
  return (
    TEXT.test(type) &&
    reply.statusCode !== 206 &&
    !reply.hasHeader('content-encoding') &&
    reply.getHeader('cache-control') !== 'no-store'
  )
}

/** Whether an Accept-Encoding header accepts gzip (RFC 9110 §12.5.3). */
export function takesGzip(header: string | string[] | undefined) {
  const weights = new Map(
    [header ?? []].flat().flatMap((text) =>
      text.split(',').map((item) => {
        const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
        const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
        return [name, weight === undefined ? 1 : Number(weight)] as const
      }),
    ),
  )
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}
