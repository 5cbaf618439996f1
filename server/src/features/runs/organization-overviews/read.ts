import type { Ctx } from '../../../app.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { onlineSince } from '../../agents/agents/status.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/plan-limits.ts'
import { readGrants } from '../../workspaces/workspaces/read-grants.ts'
import type { OrganizationOverview } from './resource.ts'
import * as store from './store.ts'

/** What needs attention in the organization, in two statements that read no run but the unfinished ones. */
export async function readOrganizationOverview(ctx: Ctx, name: string): Promise<OrganizationOverview> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const { actor, db } = ctx
  const { id: organizationId, access, can } = organization
  const grants =
    actor.kind === 'user' && !seesEveryWorkspace(access) ? await readGrants(ctx, actor, organization) : undefined
  const now = ctx.now()
  const [workspaces, counts] = await Promise.all([
    store.countWorkspaces(db, actor, { organizationId, grants }),
    store.countOrganization(db, actor, { organizationId, since: onlineSince(now), now }),
  ])
  return {
    name: organization.name,
    limits: PLAN_LIMITS[organization.plan],
    mayReadTasks: can.has('run-tasks:read'),
    mayReadPools: can.has('agent-pools:read'),
    workspaces,
    counts,
  }
}
