import type { Ctx } from '../../../app.ts'
import { announceFound } from '../../../changes/announce.ts'
import type { Notice } from '../../../changes/feed.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { domainEvent } from '../../../events.ts'
import { selectOwners } from './store.ts'

/** The last open results of these stages have ended. Raised with the run's workspace locked. */
export const resultsEnded = domainEvent<{ runId: string; stageIds: readonly string[] }>('task-results.ended')

type ResultIds = { id: string; run_id: string; workspace_id: string; organization_id: string }

/** The change notice of a task result, its outcomes and deliveries. */
export function resultNotice({ id, run_id: run, ...row }: ResultIds): Notice {
  return { organization: row.organization_id, type: 'task-results', id, workspace: row.workspace_id, run }
}

/** Announces changed results: those with `ids`, or all of a run. */
export async function announceResults(ctx: Ctx, which: { ids: readonly string[] } | { runId: string }) {
  const read = await readWithNext(ctx.db, [selectOwners(ctx.db, which)])
  announceFound(ctx, async () => (await read())[0].map(resultNotice))
}

/** Topic that wakes the processes that send requests and watch deadlines. */
export const TOPIC = 'task-results'
