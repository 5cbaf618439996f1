import type { Tx } from './db/db.ts'

/**
 * A domain event, by which a feature notifies features above it without importing them. Its reactions run in the transaction of the change
 * and reject the change by throwing. Reactions enqueue background jobs for work that can happen later. Effects outside the database cannot be
 * rolled back, so events with such reactions are raised after the commit. `payload` is never set: it carries the type.
 */
export type DomainEvent<Payload> = { name: string; readonly payload?: Payload }

/** Declares an event in the feature that raises it. Names are unique, such as `workspace.unlocked`. */
export function domainEvent<Payload>(name: string): DomainEvent<Payload> {
  return { name }
}

/** A function that runs when an event is raised; created by `reaction` in `handlers.ts`. */
export type Reaction = { event: string; react: (ctx: never, payload: never) => Promise<void> }

/** The reactions by event name, in the order of `features/list.ts`. */
export type Events = ReadonlyMap<string, readonly Reaction[]>

export function createEvents(reactions: readonly Reaction[]): Events {
  return Map.groupBy(reactions, ({ event }) => event)
}

/** Raises an event in the open transaction and runs its reactions in order. Rejects with the error of a reaction. */
export async function raise<Context extends { db: Tx; events: Events }, Payload>(
  ctx: Context,
  event: DomainEvent<Payload>,
  payload: Payload,
) {
  for (const { react } of ctx.events.get(event.name) ?? []) {
    // `reaction` checked the types of the context and the payload.
    await (react as (ctx: Context, payload: Payload) => Promise<void>)(ctx, payload)
  }
}
