import { z } from 'zod'
import type { Ctx, TransactionCtx } from './app.ts'
import type { DomainEvent, Reaction } from './events.ts'
import { type Handler, type JobKind, jobKind } from './jobs/jobs.ts'

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

/** A job without data that runs on a schedule, a cron expression in UTC, one at a time per process. It must be idempotent. */
export function scheduledJob(
  name: string,
  schedule: string,
  run: (ctx: Ctx, signal: AbortSignal) => Promise<unknown>,
  options: Pick<Partial<JobKind>, 'retryLimit' | 'timeLimitMs'> = {},
): JobHandler {
  const kind = jobKind(name, z.object({}), { ...options, concurrency: 1 })
  return jobHandler(kind, async (ctx, _, signal) => void (await run(ctx, signal)), { schedule })
}
