import type { CreateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../app.ts'
import { checkSecondFactor, readFacts } from '../../auth/facts.ts'
import { type Facts, type OrganizationPermission, organizationPermissions } from '../../auth/permissions.ts'
import { isUniqueViolation, transact } from '../../db/db.ts'
import { forbidden, invalid, notFound } from '../../errors.ts'
import { insertDefaultProject } from '../projects/service.ts'
import { insertOwnersTeam } from '../teams/service.ts'
import * as store from './store.ts'

/** An organization that the actor may see, with what it may do there. */
export type Organization = store.OrganizationRow & { can: ReadonlySet<OrganizationPermission>; facts: Facts }

/**
 * Loads the organization of that name and checks `permission` in one query. Throws `not-found` when the actor may not
 * see it, `forbidden` when it sees it but lacks the permission.
 */
export async function requireOrganization(
  ctx: Ctx,
  name: string,
  permission: OrganizationPermission,
): Promise<Organization> {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { name }), permission)
}

export async function requireOrganizationById(
  ctx: Ctx,
  id: string,
  permission: OrganizationPermission,
): Promise<Organization> {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { id }), permission)
}

function authorised(
  ctx: Ctx,
  row: Awaited<ReturnType<typeof store.findOrganization>>,
  permission: OrganizationPermission,
) {
  if (!row) throw notFound('organization')
  const { facts: column, ...organization } = row
  const facts = readFacts(ctx.actor, { organizationId: row.id, facts: column })
  const can = organizationPermissions(facts)
  if (!can.has('organization:read')) throw notFound('organization')
  checkSecondFactor(row)
  if (!can.has(permission)) throw forbidden(`this needs the permission ${permission} in the organization ${row.name}`)
  return { ...organization, can, facts }
}

/** Creates an organization with its owners team, of which the caller becomes the first member, and a default project. */
export async function createOrganization(ctx: Ctx, input: CreateOrganization): Promise<Organization> {
  const { actor } = ctx
  if (actor.kind !== 'user' || actor.teamId !== undefined) throw notFound('organization')
  try {
    return await transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('org')
      await store.insertOrganization(ctx.db, {
        id,
        name: input.name,
        email: input.email,
        plan: ctx.config.edition === 'hosted' ? 'free' : 'unlimited',
        collaborator_auth_policy: input['collaborator-auth-policy'],
        session_timeout: input['session-timeout'] ?? null,
        session_remember: input['session-remember'] ?? null,
        cost_estimation_enabled: input['cost-estimation-enabled'],
        assessments_enforced: input['assessments-enforced'],
        allow_force_delete_workspaces: input['allow-force-delete-workspaces'],
        send_passing_statuses: input['send-passing-statuses-for-untriggered-speculative-plans'],
        aggregated_commit_status_enabled: input['aggregated-commit-status-enabled'],
        speculative_plan_management_enabled: input['speculative-plan-management-enabled'],
        owners_team_saml_role_id: input['owners-team-saml-role-id'] ?? null,
        default_execution_mode: input['default-execution-mode'],
        created_at: now,
        updated_at: now,
      })
      const projectId = await insertDefaultProject(ctx, id)
      await store.updateOrganization(ctx.db, id, { default_project_id: projectId })
      await insertOwnersTeam(ctx, id, actor.userId)
      return requireOrganizationById(ctx, id, 'organization:read')
    })
  } catch (error) {
    if (isUniqueViolation(error, 'organizations_name_key'))
      throw invalid('Name has already been taken', '/data/attributes/name')
    throw error
  }
}
