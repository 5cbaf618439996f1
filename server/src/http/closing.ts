import type { FastifyInstance, FastifyRequest } from 'fastify'

/** What requests under way get to come to their end once the server closes, in ms. */
const GRACE_MS = 10_000
const SWEEP_MS = 200

const signals = new WeakMap<object, AbortSignal>()

/**
 * Lets a server that closes come to its end: requests that wait for something to happen are told to answer
 * (`closingSignal`), a connection ends with its answer, and what is left after a while is cut off. Without it a waiting agent
 * holds the server up for its whole long poll, and then for as long as connections are kept alive.
 */
export function endWhenClosing(server: FastifyInstance) {
  const closing = new AbortController()
  signals.set(server.server, closing.signal)
  let sweep: NodeJS.Timeout | undefined
  let limit: NodeJS.Timeout | undefined

  server.addHook('preClose', async () => {
    closing.abort()
    // An answer that had begun before could not say that its connection ends.
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

/** Aborts when the server of a request begins to close. */
export function closingSignal(request: FastifyRequest): AbortSignal {
  const signal = signals.get(request.server.server)
  if (!signal) throw new Error('the server of this request is not watched')
  return signal
}
