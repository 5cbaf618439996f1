import type { FastifyInstance, FastifyRequest } from 'fastify'

/** How long open requests may take once the server closes, in ms. */
const GRACE_MS = 10_000
const SWEEP_MS = 200

const signals = new WeakMap<object, AbortSignal>()

/**
 * Ends open requests and connections when the server closes. Requests that wait are told to answer (`closingSignal`),
 * each connection closes after its answer, and the rest is cut off after `GRACE_MS`. Without this, an agent's long poll
 * and kept-alive connections would delay the end.
 */
export function endWhenClosing(server: FastifyInstance) {
  const closing = new AbortController()
  signals.set(server.server, closing.signal)
  let sweep: NodeJS.Timeout | undefined
  let limit: NodeJS.Timeout | undefined

  server.addHook('preClose', async () => {
    closing.abort()
    // Answers that had begun before could not send `Connection: close`.
    sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
    limit = setTimeout(() => server.server.closeAllConnections(), GRACE_MS)
  })
  server.addHook('onSend', async (_, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
  server.addHook('onClose', async () => {
    clearInterval(sweep)
    clearTimeout(limit)
  })
}

/** Aborts when the server of a request starts to close. */
export function closingSignal(request: FastifyRequest): AbortSignal {
  const signal = signals.get(request.server.server)
  if (!signal) throw new Error('endWhenClosing was not called for the server of this request')
  return signal
}
