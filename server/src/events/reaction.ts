import type { TransactionCtx } from '../app.ts'
import type { DomainEvent, Reaction } from './events.ts'

/**
 * Binds a function to an event of a lower area. It runs in the transaction of the event, and may refuse the change by
 * throwing.
 */
export function reaction<Payload>(
  event: DomainEvent<Payload>,
  react: (ctx: TransactionCtx, payload: Payload) => Promise<void>,
): Reaction {
  return { event: event.name, react }
}

/** Raises an event in the open transaction. Resolves when all reactions have run, one after the other. */
export async function raise<Payload>(ctx: TransactionCtx, event: DomainEvent<Payload>, payload: Payload) {
  for (const { react } of ctx.events.get(event.name) ?? []) {
    // `reaction` has checked the type of the payload.
    await (react as (ctx: TransactionCtx, payload: Payload) => Promise<void>)(ctx, payload)
  }
}
