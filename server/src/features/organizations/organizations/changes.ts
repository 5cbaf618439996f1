import type { CreateOrganization, UpdateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { insertDefaultProject } from '../projects/service.ts'
import { type Organization, requireOrganization, requireOrganizationById, requireOrganizationPool } from './service.ts'
import * as store from './store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { insertOwnersTeam } from '../teams/changes.ts'

const POOL = '/data/relationships/default-agent-pool'

/** Creates an organization with its owners team, of which the caller becomes the first member, and a default project. */
export async function createOrganization(ctx: Ctx, input: CreateOrganization): Promise<Organization> {
  const { actor } = ctx
  if (actor.kind !== 'user' || actor.teamId !== undefined) throw notFound('organization')
  if (input['default-execution-mode'] === 'agent') {
    throw invalid(
      "default-agent-pool must be specified when using 'agent' execution mode: create an agent pool first",
      POOL,
    )
  }
  return unique(() =>
    transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('org')
      await store.insertOrganization(ctx.db, {
        ...settingColumns(input),
        id,
        name: input.name,
        email: input.email,
        plan: ctx.config.edition === 'hosted' ? 'free' : 'unlimited',
        created_at: now,
        updated_at: now,
      })
      const projectId = await insertDefaultProject(ctx, id)
      await store.updateOrganization(ctx.db, id, { default_project_id: projectId })
      await insertOwnersTeam(ctx, id, actor.userId)
      await recordAudit(ctx, {
        organizationId: id,
        action: 'create',
        resource: { type: 'organization', id },
        meta: { name: input.name },
      })
      return requireOrganizationById(ctx, id, 'organization:read')
    }),
  )
}

export async function updateOrganization(ctx: Ctx, name: string, input: UpdateOrganization): Promise<Organization> {
  const organization = await requireOrganization(ctx, name, 'organization:update')
  const { attributes, relationships } = input
  const mode = attributes['default-execution-mode'] ?? organization.default_execution_mode
  const named = relationships['default-agent-pool']?.data?.id
  const pool = mode === 'agent' ? (named ?? organization.default_agent_pool_id) : null
  if (named && mode !== 'agent')
    throw invalid("default-agent-pool must not be specified unless using 'agent' execution mode", POOL)
  if (mode === 'agent' && !pool)
    throw invalid("default-agent-pool must be specified when using 'agent' execution mode", POOL)
  if (named) await requireOrganizationPool(ctx, organization.id, named, POOL)
  return unique(() =>
    transact(ctx, async (ctx) => {
      await store.updateOrganization(ctx.db, organization.id, {
        ...settingColumns(attributes),
        name: attributes.name,
        email: attributes.email,
        default_agent_pool_id: pool,
        updated_at: ctx.now(),
      })
      await recordAudit(ctx, {
        organizationId: organization.id,
        action: 'update',
        resource: { type: 'organization', id: organization.id },
        meta: { name: organization.name, changes: attributes },
      })
      return requireOrganizationById(ctx, organization.id, 'organization:read')
    }),
  )
}

/** Deletes the organization with everything in it. */
export async function deleteOrganization(ctx: Ctx, name: string) {
  await destroyOrganization(ctx, await requireOrganization(ctx, name, 'organization:delete'))
}

/** As `deleteOrganization`, for a caller that has been authorised. */
export async function destroyOrganization(ctx: Ctx, { id, name }: { id: string; name: string }) {
  const event = { organizationId: id, action: 'destroy', resource: { type: 'organization', id }, meta: { name } }
  await audited(ctx, event, (ctx) => store.deleteOrganization(ctx.db, id))
}

function settingColumns(input: UpdateOrganization['attributes']) {
  return {
    collaborator_auth_policy: input['collaborator-auth-policy'],
    session_timeout: input['session-timeout'],
    session_remember: input['session-remember'],
    cost_estimation_enabled: input['cost-estimation-enabled'],
    assessments_enforced: input['assessments-enforced'],
    allow_force_delete_workspaces: input['allow-force-delete-workspaces'],
    send_passing_statuses: input['send-passing-statuses-for-untriggered-speculative-plans'],
    aggregated_commit_status_enabled: input['aggregated-commit-status-enabled'],
    speculative_plan_management_enabled: input['speculative-plan-management-enabled'],
    owners_team_saml_role_id: input['owners-team-saml-role-id'],
    default_execution_mode: input['default-execution-mode'],
  }
}

async function unique<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'organizations_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
