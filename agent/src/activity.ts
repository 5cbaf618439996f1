import type { WorkKind } from '@groundstate/contract/agent'

/** Time without a response after which an agent does not count as ready, in ms: the server abandons it then. */
const CONTACT_TIMEOUT_MS = 60_000

export type Outcome = 'finished' | 'errored' | 'canceled' | 'requeued' | 'unreported'

/** The work of an agent, for its health and metrics. */
export type Activity = ReturnType<typeof trackActivity>

type Input = {
  concurrency: number
  kinds: readonly WorkKind[]
  isRegistered: () => boolean
  isStopping: () => boolean
  /** Time of the last response of the server by `performance.now()`, in ms. */
  contactedAt: () => number | undefined
}

/** Counts work by kind and outcome. */
export function trackActivity({ concurrency, kinds, isRegistered, isStopping, contactedAt }: Input) {
  const startedAt = performance.now()
  const running = new Map<WorkKind, number>(kinds.map((kind) => [kind, 0]))
  const ended = new Map<string, { kind: WorkKind; outcome: Outcome; count: number }>()
  const contactAgeMs = () => performance.now() - (contactedAt() ?? startedAt)
  const change = (kind: WorkKind, by: number) => running.set(kind, (running.get(kind) ?? 0) + by)

  return {
    concurrency,
    contactAgeMs,
    running: () => [...running],
    ended: () => [...ended.values()],
    /** Why the agent gets no work; undefined if it does. */
    problem() {
      if (isStopping()) return 'the agent is draining'
      if (!isRegistered()) return 'the agent is not registered'
      const ageMs = contactAgeMs()
      return ageMs < CONTACT_TIMEOUT_MS ? undefined : `no response of the server for ${Math.round(ageMs / 1000)} s`
    },
    /** Counts work while it runs; `outcomeOf` its result, undefined if it did not begin. Work that rejects has errored. */
    async during<T>(kind: WorkKind, work: () => Promise<T>, outcomeOf: (result: T) => Outcome | undefined): Promise<T> {
      change(kind, 1)
      let outcome: Outcome | undefined = 'errored'
      try {
        const result = await work()
        outcome = outcomeOf(result)
        return result
      } finally {
        change(kind, -1)
        if (outcome !== undefined) {
          const key = `${kind} ${outcome}`
          ended.set(key, { kind, outcome, count: (ended.get(key)?.count ?? 0) + 1 })
        }
      }
    },
  }
}
