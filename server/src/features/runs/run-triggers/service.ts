import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { invalid, notFound } from '../../../errors.ts'
import type { Organization } from '../../organizations/organizations/access.ts'
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

type ListInput = Omit<Parameters<typeof store.listOrganizationTriggers>[2], 'organizationId' | 'seesAll'>

export async function listOrganizationTriggers(ctx: Ctx, { id, access }: Organization, list: ListInput) {
  const triggers = { ...list, organizationId: id, seesAll: seesEveryWorkspace(access) }
  const { rows, total } = await store.listOrganizationTriggers(ctx.db, ctx.actor, triggers)
  const listed = rows.map(({ access: column, ...trigger }) => {
    const { can } = readAccess(ctx.actor, { ...trigger, access: column })
    return { ...trigger, mayDelete: can.has('run-triggers:manage') }
  })
  return { rows: listed, total }
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
