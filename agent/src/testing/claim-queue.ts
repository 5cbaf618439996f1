import type { IncomingMessage } from 'node:http'

/** Requests of the protocol server that wait for claims, in memory. */
export function createClaimQueue<Item>() {
  const queue: Item[] = []
  const waiting = new Set<() => void>()

  function wakeAll() {
    for (const wake of waiting) wake()
  }

  return {
    push(item: Item) {
      queue.push(item)
      wakeAll()
    },
    endClaims: wakeAll,
    /** Pending claims. */
    claims: () => waiting.size,
    /** The oldest item, after up to `waitMs`; undefined for none. */
    async next(waitMs: number, request: IncomingMessage): Promise<Item | undefined> {
      if (queue.length === 0) {
        await new Promise<void>((resolve) => {
          const end = () => {
            clearTimeout(timer)
            waiting.delete(end)
            resolve()
          }
          const timer = setTimeout(end, waitMs)
          request.socket.once('close', end)
          waiting.add(end)
        })
      }
      return request.socket.destroyed ? undefined : queue.shift()
    },
  }
}
