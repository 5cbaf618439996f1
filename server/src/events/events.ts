/**
 * Domain events: how an area informs areas above it, without importing them. An event is raised in the transaction of
 * the change, and its reactions run in that transaction: all of it commits, or nothing does. A reaction that throws
 * refuses the change. Work that may happen later is a background job, which the reaction enqueues. What a reaction does
 * outside the database cannot be rolled back, so such an event is raised after the commit of the change.
 */
export type DomainEvent<Payload> = {
  name: string
  /** Never set: carries the type of the payload. */
  readonly payload?: Payload
}

/**
 * Declares an event, in a noun file of the feature that raises it. Its name is in the past tense: `workspace.unlocked`.
 */
export function domainEvent<Payload>(name: string): DomainEvent<Payload> {
  return { name }
}

/** The function that an event calls; `reaction` in `events/reaction.ts` creates one. */
export type Reaction = { event: string; react: (ctx: never, payload: never) => Promise<void> }

/** The reactions of a process by the name of their event, each list in the order of `features/list.ts`. */
export type Events = ReadonlyMap<string, readonly Reaction[]>

export function createEvents(reactions: readonly Reaction[]): Events {
  return Map.groupBy(reactions, ({ event }) => event)
}
