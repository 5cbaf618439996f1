import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { invalid, notFound } from '../../../errors.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { requireSource, SOURCE } from './access.ts'
import { runTriggerAudit } from './audit.ts'
import * as store from './store.ts'

/** The most workspaces whose applies may start runs in one workspace. */
const MAX_SOURCES = 20

/** Lets applies of the source start runs in the workspace. The caller has authorised the workspace. */
export async function createRunTrigger(ctx: Ctx, workspace: Workspace, sourceId: string): Promise<store.RunTriggerRow> {
  const { id: workspaceId, name } = workspace
  const source = await requireSource(ctx, workspace, sourceId)
  if (source.id === workspaceId)
    throw invalid(`the workspace ${name} can not trigger itself: the source must be another workspace`, SOURCE)
  return audited(
    ctx,
    (trigger) => runTriggerAudit(trigger, 'create'),
    async (ctx) => {
      const sources = await store.lockSources(ctx.db, workspaceId)
      if (!sources) throw notFound('workspace')
      if (sources.has(source.id)) throw invalid(`the workspace ${source.name} triggers ${name} already`, SOURCE)
      if (sources.size >= MAX_SOURCES)
        throw invalid(
          `the workspace ${name} has ${sources.size} sources, at most ${MAX_SOURCES} are possible: delete a run trigger first`,
          SOURCE,
        )
      const trigger = await store.insertRunTrigger(ctx.db, {
        id: ctx.newId('rt'),
        workspaceId,
        sourceId: source.id,
        now: ctx.now(),
      })
      if (!trigger) throw notFound('workspace', { pointer: SOURCE })
      return trigger
    },
  )
}
