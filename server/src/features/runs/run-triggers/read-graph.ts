import type { Ctx } from '../../../app.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { cyclesOf } from './cycles.ts'
import * as store from './graph-store.ts'
import type { DependencyGraph } from './graph.ts'

const MAX_TRIGGERS = 10_000

export async function readDependencyGraph(ctx: Ctx, name: string): Promise<DependencyGraph> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const found = await store.listTriggersOf(ctx.db, organization.id, MAX_TRIGGERS + 1)
  const ids = new Set(found.flatMap((trigger) => [trigger.source_id, trigger.workspace_id]))
  const workspaces = await store.listGraphWorkspaces(ctx.db, ctx.actor, {
    ids: [...ids],
    seesAll: seesEveryWorkspace(organization.access),
  })
  const shown = new Set(workspaces.map(({ id }) => id))
  const triggers = found
    .slice(0, MAX_TRIGGERS)
    .filter((trigger) => shown.has(trigger.source_id) && shown.has(trigger.workspace_id))
  // A cycle through a workspace that the actor may not read would tell it of triggers there.
  const cycles = cyclesOf(triggers.map((trigger) => ({ from: trigger.source_id, to: trigger.workspace_id })))
  return { organization: organization.name, workspaces, triggers, cycles, truncated: found.length > MAX_TRIGGERS }
}
