import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Time for open requests to finish once the server closes, in ms. */
const GRACE_MS = 10_000
/** The same for connections without a request, in ms. */
const SILENT_GRACE_MS = 1000
const SWEEP_MS = 200

const signals = new WeakMap<object, AbortSignal>()

/**
 * Ends open requests and connections when the server closes. `closingSignal` ends long polls, each connection closes after its response, and the
 * rest is closed after `GRACE_MS`. Otherwise long polls of agents, kept-alive connections, and connections that browsers and pools open in
 * advance would delay the shutdown.
 */
export function endWhenClosing(server: FastifyInstance) {
  const closing = new AbortController()
  signals.set(server.server, closing.signal)
  const silent = silentConnections(server)
  const timers: NodeJS.Timeout[] = []

  server.addHook('preClose', async () => {
    closing.abort()
    timers.push(
      // Responses that started before closing could not send `Connection: close`.
      setInterval(() => server.server.closeIdleConnections(), SWEEP_MS),
      // Node counts a connection as busy until its first request has ended, even if none has begun.
      setTimeout(() => silent.forEach((socket) => socket.destroy()), SILENT_GRACE_MS),
      setTimeout(() => server.server.closeAllConnections(), GRACE_MS),
    )
  })
  server.addHook('onSend', async (_, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
  server.addHook('onClose', async () => timers.forEach((timer) => clearTimeout(timer)))
}

/**
 * The open connections without a request so far, by port and address of the client: under TLS the socket of a request is not that of the
 * connection.
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

/** Aborts when the client disconnects before the response, or when the server closes. */
export function clientSignal(raw: FastifyRequest, reply: FastifyReply) {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) controller.abort()
  })
  // The client may have disconnected during authentication.
  if (reply.raw.destroyed) controller.abort()
  return AbortSignal.any([controller.signal, closingSignal(raw)])
}
