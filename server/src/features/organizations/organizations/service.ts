import type { CreateOrganization, UpdateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { NO_ACCESS } from '../../../auth/access-context.ts'
import { type Paged, rejectTakenName, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import {
  type Organization,
  organizationAudit,
  organizationCreating,
  organizationDeleting,
  readableOrganization,
  requireOrganization,
  requireOrganizationPool,
  showChangedOrganization,
} from './access.ts'
import * as store from './store.ts'

/** Creates an organization with a default project and an owners team, whose first member is the caller. */
export async function createOrganization(ctx: Ctx, input: CreateOrganization): Promise<Organization> {
  const { actor } = ctx
  if (actor.kind !== 'user' || actor.teamId !== undefined) throw notFound('organization')
  if (input['default-execution-mode'] === 'agent') {
    const detail = "Default agent pool must be specified when using 'agent' execution mode: create an agent pool first"
    throw invalid(detail, POOL)
  }
  checkNotReserved(input.name)
  return rejectTakenName({ constraint: 'organizations_name_key' }, async () =>
    transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('org')
      await store.insertOrganization(ctx.db, {
        ...organizationSettingColumns(input),
        id,
        name: input.name,
        email: input.email,
        plan: ctx.config.edition === 'hosted' ? 'free' : 'unlimited',
        created_at: now,
        updated_at: now,
      })
      await raise(ctx, organizationCreating, { organizationId: id, ownerId: actor.userId })
      await recordAudit(ctx, organizationAudit({ id, name: input.name }, 'create', input))
      return showChangedOrganization(ctx, id, { ...NO_ACCESS, role: 'owner' })
    }),
  )
}

export async function listOrganizations(ctx: Ctx, query: store.ListOrganizations): Promise<Paged<Organization>> {
  const { rows, total } = await store.listOrganizations(ctx.db, ctx.actor, query)
  return { rows: rows.flatMap((row) => readableOrganization(ctx, row) ?? []), total }
}

const POOL = '/data/relationships/default-agent-pool'

export async function updateOrganization(ctx: Ctx, name: string, input: UpdateOrganization): Promise<Organization> {
  const organization = await requireOrganization(ctx, name, 'organization:update')
  const { attributes, relationships } = input
  // Clients also send an unchanged name, which may be older than the page.
  if (attributes.name !== undefined && attributes.name !== organization.name) checkNotReserved(attributes.name)
  const mode = attributes['default-execution-mode'] ?? organization.default_execution_mode
  const related = relationships['default-agent-pool']
  const named = related && (related.data?.id ?? null)
  const pool = mode !== 'agent' ? null : named === undefined ? organization.default_agent_pool_id : named
  if (named && mode !== 'agent')
    throw invalid("Default agent pool must not be specified unless using 'agent' execution mode", POOL)
  if (mode === 'agent' && !pool)
    throw invalid("Default agent pool must be specified when using 'agent' execution mode", POOL)
  if (named) await requireOrganizationPool(ctx, organization.id, named, POOL)
  checkKeepsSession(ctx, attributes)
  const columns = {
    ...organizationSettingColumns(attributes),
    name: attributes.name,
    email: attributes.email,
    default_agent_pool_id: pool,
    updated_at: ctx.now(),
  }
  return rejectTakenName({ constraint: 'organizations_name_key' }, async () =>
    transact(ctx, async (ctx) => {
      await store.updateOrganization(ctx.db, organization.id, columns)
      const settings = { before: organization, columns }
      await recordAudit(ctx, { ...organizationAudit(organization, 'update', attributes), settings })
      return showChangedOrganization(ctx, organization.id, organization.access)
    }),
  )
}

/** Names that are pages of the web UI: `/app/admin` cannot be an organization. */
const RESERVED_NAMES = new Set(['admin', 'invitation', 'reset-password', 'settings', 'sign-in'])

function checkNotReserved(name: string) {
  if (!RESERVED_NAMES.has(name)) return
  throw invalid(`Name ${JSON.stringify(name)} is reserved for a page of the web UI`, '/data/attributes/name')
}

/** Throws `invalid` for session limits that would refuse the caller's own session. */
function checkKeepsSession({ actor }: Ctx, attributes: UpdateOrganization['attributes']) {
  const age = actor.kind === 'user' ? actor.sessionAge : undefined
  if (!age) return
  const { 'session-remember': maxAge, 'session-timeout': maxIdle } = attributes
  const refusal = (limit: number, name: string, reason: string) =>
    invalid(
      `you would lock yourself out: your session ${reason} ${limit} minute${limit === 1 ? '' : 's'}; choose a longer time`,
      `/data/attributes/${name}`,
    )
  if (maxAge && age.minutes >= maxAge) throw refusal(maxAge, 'session-remember', 'is older than')
  if (maxIdle && age.idleMinutes >= maxIdle) throw refusal(maxIdle, 'session-timeout', 'was once unused for')
}

export async function deleteOrganization(ctx: Ctx, name: string) {
  await destroyOrganization(ctx, await requireOrganization(ctx, name, 'organization:delete'))
}

/** As `deleteOrganization`; the caller is authorised. */
export async function destroyOrganization(ctx: Ctx, { id, name }: { id: string; name: string }) {
  await audited(ctx, organizationAudit({ id, name }, 'destroy'), async (ctx) => {
    await raise(ctx, organizationDeleting, { organizationId: id })
    await store.deleteOrganization(ctx.db, id)
  })
}

function organizationSettingColumns(input: UpdateOrganization['attributes']) {
  return {
    collaborator_auth_policy: input['collaborator-auth-policy'],
    session_timeout: input['session-timeout'],
    session_remember: input['session-remember'],
    cost_estimation_enabled: input['cost-estimation-enabled'],
    allow_force_delete_workspaces: input['allow-force-delete-workspaces'],
    send_passing_statuses: input['send-passing-statuses-for-untriggered-speculative-plans'],
    aggregated_commit_status_enabled: input['aggregated-commit-status-enabled'],
    speculative_plan_management_enabled: input['speculative-plan-management-enabled'],
    owners_team_saml_role_id: input['owners-team-saml-role-id'],
    user_tokens_enabled: input['user-tokens-enabled'],
    default_execution_mode: input['default-execution-mode'],
  }
}
