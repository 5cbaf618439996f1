import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** How long open requests may take once the server closes, in ms. */
const GRACE_MS = 10_000
/** How long connections may stay open on which nothing was asked yet, in ms. */
const CLOSE_GRACE_MS = 1000
const SWEEP_MS = 200

const signals = new WeakMap<object, AbortSignal>()

/**
 * Ends open requests and connections when the server closes. Long polls are asked to respond (`closingSignal`),
 * each connection closes after its response, and the rest is cut off after `GRACE_MS`. Without this, an agent's long poll
 * and kept-alive connections would delay the end, and so would those that browsers and pools open before they ask.
 */
export function endWhenClosing(server: FastifyInstance) {
  const closing = new AbortController()
  signals.set(server.server, closing.signal)
  const silent = silentConnections(server)
  let sweep: NodeJS.Timeout | undefined
  let limit: NodeJS.Timeout | undefined
  let silence: NodeJS.Timeout | undefined

  server.addHook('preClose', async () => {
    closing.abort()
    // Answers that had begun before could not send `Connection: close`.
    sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
    // Node counts a connection as busy until its first request has ended, even if none has begun.
    silence = setTimeout(() => {
      for (const socket of silent.values()) socket.destroy()
    }, CLOSE_GRACE_MS)
    limit = setTimeout(() => server.server.closeAllConnections(), GRACE_MS)
  })
  server.addHook('onSend', async (_, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
  server.addHook('onClose', async () => {
    clearInterval(sweep)
    clearTimeout(silence)
    clearTimeout(limit)
  })
}

/**
 * The open connections on which nothing was asked yet, by the port and address of the client: under TLS the requests name
 * another socket than the connection.
 */
function silentConnections(server: FastifyInstance) {
  const silent = new Map<string, Socket>()
  const heard = new WeakSet<Socket>()
  server.server.on('connection', (socket: Socket) => {
    const key = clientOf(socket)
    silent.set(key, socket)
    socket.once('close', () => silent.get(key) === socket && silent.delete(key))
  })
  server.server.on('request', ({ socket }) => {
    if (heard.has(socket)) return
    heard.add(socket)
    silent.delete(clientOf(socket))
  })
  return silent
}

function clientOf({ remoteAddress, remotePort }: Socket) {
  return `${remotePort} ${remoteAddress}`
}

/** Aborts when the server of a request starts to close. */
export function closingSignal(request: FastifyRequest): AbortSignal {
  const signal = signals.get(request.server.server)
  if (!signal) throw new Error('endWhenClosing was not called for the server of this request')
  return signal
}

/** Aborts when the client disconnects before it is answered, or when the server closes. */
export function clientSignal(raw: FastifyRequest, reply: FastifyReply) {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) controller.abort()
  })
  // The client may have disconnected during authentication.
  if (reply.raw.destroyed) controller.abort()
  return AbortSignal.any([controller.signal, closingSignal(raw)])
}
