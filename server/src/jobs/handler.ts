import type { Ctx } from '../app.ts'
import type { Handler, JobKind } from './jobs.ts'

/** What a feature does in the background; `features/list.ts` names all of them. */
export type JobHandler = Handler<Ctx>

/** Binds a function to a kind of job. It must be idempotent: a job runs again when its process dies. */
export function jobHandler<Data extends object>(
  kind: JobKind<Data>,
  run: (ctx: Ctx, data: Data, signal: AbortSignal) => Promise<void>,
  options: { schedule?: string } = {},
): JobHandler {
  return {
    ...options,
    kind: kind as unknown as JobKind<never>, // handlers of all kinds stand in one list
    run: async (ctx, data, signal) => run(ctx, kind.data.parse(data), signal),
  }
}
