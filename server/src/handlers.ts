import type { Ctx, TransactionCtx } from './app.ts'
import type { DomainEvent, Reaction } from './events.ts'
import type { Handler, JobKind } from './jobs/jobs.ts'

/** Binds a function to an event of a lower feature; see `DomainEvent`. */
export function reaction<Payload>(
  event: DomainEvent<Payload>,
  react: (ctx: TransactionCtx, payload: Payload) => Promise<void>,
): Reaction {
  return { event: event.name, react }
}

export type JobHandler = Handler<Ctx>

/** Binds a handler to a kind of job. It must be idempotent, since a job runs again if its process dies. */
export function jobHandler<Data extends object>(
  kind: JobKind<Data>,
  run: (ctx: Ctx, data: Data, signal: AbortSignal) => Promise<void>,
  options: { schedule?: string } = {},
): JobHandler {
  return {
    ...options,
    kind: kind as unknown as JobKind<never>, // one list holds handlers of all kinds
    run: async (ctx, data, signal) => run(ctx, kind.data.parse(data), signal),
  }
}
