import type { Ctx } from '../app.ts'
import type { Handler, JobKind } from './jobs.ts'

/** A background task of a feature; `features/list.ts` lists all of them. */
export type JobHandler = Handler<Ctx>

/** Binds a handler to a kind of job. It must be idempotent: a job runs again when its process dies. */
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
