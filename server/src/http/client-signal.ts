import type { FastifyReply, FastifyRequest } from 'fastify'
import { closingSignal } from './closing.ts'

/** Aborts when the client disconnects before it is answered, or when the server closes. */
export function clientSignal(raw: FastifyRequest, reply: FastifyReply) {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableEnded) controller.abort()
  })
  // It may have gone while the caller was found out.
  if (reply.raw.destroyed) controller.abort()
  return AbortSignal.any([controller.signal, closingSignal(raw)])
}
