/** A claim: the agent, and the other fields of its request. */
export type ClaimRequest = { agent: { id: string; agent_pool_id: string } }

type Waiter<W extends ClaimRequest> = {
  request: W
  isChecked: boolean
  expired: boolean
  give: (item: undefined) => void
}

/**
 * Decides which waiter of a pool claims next. Where one agent found nothing, agents with the same key find nothing either,
 * except an agent with a reservation.
 */
export class ClaimScheduler<W extends ClaimRequest, One extends Waiter<W>> {
  readonly waiters: ReadonlySet<One>
  readonly kindOf: (request: W) => string
  readonly passedKinds = new Set<string>()
  readonly passedAgents = new Set<string>()
  preferred: ReadonlySet<string> | undefined

  constructor(waiters: ReadonlySet<One>, kindOf: (request: W) => string) {
    this.waiters = waiters
    this.kindOf = kindOf
  }

  /** Whether the agents with a reservation are known. */
  get isKnown() {
    return this.preferred !== undefined
  }

  next(): One | undefined {
    for (const waiter of this.waiters) {
      const { id } = waiter.request.agent
      if (this.passedAgents.has(id)) continue
      if (!this.passedKinds.has(this.kindOf(waiter.request)) || this.preferred?.has(id)) return waiter
    }
    return undefined
  }

  /** Records that the waiter found nothing. */
  pass({ request }: One, preferred: readonly string[]) {
    this.preferred ??= new Set(preferred)
    this.passedKinds.add(this.kindOf(request))
    this.passedAgents.add(request.agent.id)
    for (const idle of this.waiters) {
      const { id } = idle.request.agent
      const isPassed = this.passedKinds.has(this.kindOf(idle.request)) && !this.preferred.has(id)
      if (isPassed || this.passedAgents.has(id)) markChecked(idle)
    }
  }
}

/** Marks the waiter as checked, and ends it if it has expired. */
export function markChecked(waiter: Pick<Waiter<ClaimRequest>, 'isChecked' | 'expired' | 'give'>) {
  waiter.isChecked = true
  if (waiter.expired) waiter.give(undefined)
}
