import type { TransactionCtx } from '../app.ts'
import type { DomainEvent, Reaction } from './events.ts'

/** Binds a function to an event that an area below raises. It runs in the transaction of the event, and may refuse it by throwing. */
export function reaction<Payload>(
  event: DomainEvent<Payload>,
  react: (ctx: TransactionCtx, payload: Payload) => Promise<void>,
): Reaction {
  return { event: event.name, react }
}

/** Raises an event in the open transaction; returns when every reaction has run, one after the other. */
export async function raise<Payload>(ctx: TransactionCtx, event: DomainEvent<Payload>, payload: Payload) {
  for (const { react } of ctx.events.get(event.name) ?? []) {
    // `reaction` has checked that it takes the payload of this event.
    await (react as (ctx: TransactionCtx, payload: Payload) => Promise<void>)(ctx, payload)
  }
}
