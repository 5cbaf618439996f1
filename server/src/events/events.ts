/**
 * Domain events: how an area tells those above it that something happened, without knowing them. An event is raised inside the
 * transaction of the change, and every reaction runs in that transaction too: all of it commits, or nothing does. A reaction that
 * throws refuses the change. What may happen later is a background job, which a reaction enqueues.
 */
export type DomainEvent<Payload> = {
  name: string
  /** Never set: carries the type of the payload. */
  readonly payload?: Payload
}

/** Declares an event, in a noun file of the feature that raises it, and in the past tense: `workspace.unlocked`. */
export function domainEvent<Payload>(name: string): DomainEvent<Payload> {
  return { name }
}

/** What is done when an event is raised; `events/reaction.ts` makes one. */
export type Reaction = { event: string; react: (ctx: never, payload: never) => Promise<void> }

/** The reactions of a process, by the name of their event, each list in the order of `features/list.ts`. */
export type Events = ReadonlyMap<string, readonly Reaction[]>

export function createEvents(reactions: readonly Reaction[]): Events {
  return Map.groupBy(reactions, ({ event }) => event)
}
