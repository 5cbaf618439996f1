import type { Ctx } from '../../../app.ts'
import { announceFound } from '../../../changes/announce.ts'
import type { Notice } from '../../../changes/feed.ts'
import { readWithNext } from '../../../db/later.ts'
import { selectPlaces } from './store.ts'

type Place = { id: string; run_id: string; workspace_id: string; organization_id: string }

/** The notice of a task result: its status, message, outcomes and deliveries. */
export function resultNotice({
  id,
  run_id: run,
  workspace_id: workspace,
  organization_id: organization,
}: Place): Notice {
  return { organization, type: 'task-results', id, workspace, run }
}

/** Notifies open pages of changed results: of some, or of all of a run. */
export async function announceResults(ctx: Ctx, which: { ids: readonly string[] } | { runId: string }) {
  const read = await readWithNext(ctx.db, [selectPlaces(ctx.db, which)])
  announceFound(ctx, async () => (await read())[0].map(resultNotice))
}
