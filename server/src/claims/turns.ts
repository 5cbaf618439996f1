/** The agent that asks, and whatever else its claim says. */
export type Wish = { agent: { id: string; agent_pool_id: string } }

type Waiter<W extends Wish> = {
  wish: W
  hasLooked: boolean
  expired: boolean
  give: (item: undefined) => void
}

/**
 * Whose turn it is to look at the queue of a pool. Where one agent has found nothing, others of its kind find nothing either,
 * except an agent that something is reserved for.
 */
export class Turns<W extends Wish, One extends Waiter<W>> {
  readonly waiters: ReadonlySet<One>
  readonly kindOf: (wish: W) => string
  readonly passedKinds = new Set<string>()
  readonly passedAgents = new Set<string>()
  preferred: ReadonlySet<string> | undefined

  constructor(waiters: ReadonlySet<One>, kindOf: (wish: W) => string) {
    this.waiters = waiters
    this.kindOf = kindOf
  }

  /** Whether it is known which agents something is reserved for. */
  get isKnown() {
    return this.preferred !== undefined
  }

  next(): One | undefined {
    for (const waiter of this.waiters) {
      const { id } = waiter.wish.agent
      if (this.passedAgents.has(id)) continue
      if (!this.passedKinds.has(this.kindOf(waiter.wish)) || this.preferred?.has(id)) return waiter
    }
    return undefined
  }

  /** The waiter has found nothing. */
  pass({ wish }: One, preferred: readonly string[]) {
    this.preferred ??= new Set(preferred)
    this.passedKinds.add(this.kindOf(wish))
    this.passedAgents.add(wish.agent.id)
    for (const idle of this.waiters) {
      const { id } = idle.wish.agent
      const isPassed = this.passedKinds.has(this.kindOf(idle.wish)) && !this.preferred.has(id)
      if (isPassed || this.passedAgents.has(id)) noteLooked(idle)
    }
  }
}

/** The queue has nothing for the agent; a claim whose time is over ends. */
export function noteLooked(waiter: Pick<Waiter<Wish>, 'hasLooked' | 'expired' | 'give'>) {
  waiter.hasLooked = true
  if (waiter.expired) waiter.give(undefined)
}
