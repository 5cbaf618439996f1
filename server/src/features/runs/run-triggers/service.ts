import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { invalid, notFound } from '../../../errors.ts'
import type { Workspace } from '../../workspaces/workspaces/access.ts'
import { SOURCE, requireRunTriggerToDelete, requireSource } from './access.ts'
import * as store from './store.ts'

const MAX_SOURCES = 20

/** Creates a trigger for which the caller has authorised the workspace. */
export async function createRunTrigger(ctx: Ctx, workspace: Workspace, sourceId: string): Promise<store.RunTriggerRow> {
  const { id: workspaceId, name } = workspace
  const source = await requireSource(ctx, workspace, sourceId)
  if (source.id === workspaceId)
    throw invalid(`the workspace ${name} cannot trigger itself: the source must be another workspace`, SOURCE)
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
      const keys = { id: ctx.newId('rt'), workspaceId, sourceId: source.id }
      const trigger = await store.insertRunTrigger(ctx.db, { ...keys, now: ctx.now() })
      if (!trigger) throw notFound('workspace', { pointer: SOURCE })
      return trigger
    },
  )
}

/** Deletes a run trigger. Runs of earlier firings still start. */
export async function deleteRunTrigger(ctx: Ctx, id: string) {
  const trigger = await requireRunTriggerToDelete(ctx, id)
  await audited(ctx, runTriggerAudit(trigger, 'destroy'), async (ctx) => {
    if (!(await store.deleteRunTrigger(ctx.db, id))) throw notFound('run trigger')
  })
}

function runTriggerAudit(trigger: store.RunTriggerRow, action: 'create' | 'destroy'): AuditEvent {
  const { id, organization_id: organizationId, workspace_id: workspace, source_id: source } = trigger
  return {
    organizationId,
    action,
    resource: { type: 'run_trigger', id },
    meta: { workspace, source },
    // The pages of both workspaces show it.
    notices: [
      { type: 'run-triggers', id, workspace },
      { type: 'run-triggers', id, workspace: source },
    ],
  }
}
