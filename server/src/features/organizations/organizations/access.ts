import type { UpdateOrganization } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type AccessContext, isTokenRejected, readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { invalid, notFound, unauthorized } from '../../../errors.ts'
import { domainEvent } from '../../../events.ts'
import * as store from './store.ts'

/** Throws `not-found` without access, `forbidden` without the permission, `unauthorized` if the organization rejects members' tokens. */
export async function requireOrganization(ctx: Ctx, name: string, permission: OrganizationPermission) {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { name }), permission)
}

export async function requireOrganizationById(ctx: Ctx, id: string, permission: OrganizationPermission) {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { id }), permission)
}

const REFUSED =
  'the organization does not accept API tokens of its members: use the token of a team or of the organization, or sign in on the web'

/** The organization after a change by an actor with `access`, even by an owner whose token the change disabled. */
export async function showChangedOrganization(ctx: Ctx, id: string, access: AccessContext): Promise<Organization> {
  const row = await store.findOrganization(ctx.db, ctx.actor, { id })
  if (row && isTokenRejected(ctx.actor, row.access)) return { ...row, access, can: organizationPermissions(access) }
  return authorised(ctx, row, 'organization:read')
}

function authorised(ctx: Ctx, row: AccessRow | undefined, permission: OrganizationPermission): Organization {
  const organization = row && readableOrganization(ctx, row)
  if (row && isTokenRejected(ctx.actor, row.access)) throw unauthorized(REFUSED)
  if (!organization) throw notFound('organization')
  checkSignInPolicy(organization.access)
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return organization
}

export function readableOrganization(ctx: Ctx, row: AccessRow): Organization | undefined {
  const { access: column, ...organization } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.id, access: column })
  const can = organizationPermissions(access)
  return can.has('organization:read') ? { ...organization, can, access } : undefined
}

/** The organizations whose content the actor may see with its current sign-in, by ids or names. */
export async function listReadableOrganizations(ctx: Ctx, keys: readonly string[], column: 'id' | 'name' = 'id') {
  const rows = await store.findOrganizations(ctx.db, ctx.actor, { keys, column })
  return rows.flatMap((row) => {
    const organization = readableOrganization(ctx, row)
    return organization && !organization.access.signInRequirement ? organization : []
  })
}

type PartAccess = { noun: string; read: OrganizationPermission; permission: OrganizationPermission }

/** A row of an organization, for actors with `permission`. Throws `not-found` without `read`, otherwise `forbidden`. */
export async function requirePart<Row extends { organization_id: string }>(
  ctx: Ctx,
  row: Row | undefined,
  { noun, read, permission }: PartAccess,
): Promise<Row> {
  const [organization] = row ? await listReadableOrganizations(ctx, [row.organization_id]) : []
  if (!row || !organization?.can.has(read)) throw notFound(noun)
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return row
}

type AuditedOrganization = { id: string; name: string }
type Changes = UpdateOrganization['attributes']

export function organizationAudit({ id, name }: AuditedOrganization, action: string, changes?: Changes): AuditEvent {
  return {
    organizationId: id,
    action,
    resource: { type: 'organization', id },
    meta: changes === undefined ? { name } : { name, changes },
    // The id of an organization in the API is its name.
    notices: action === 'create' ? [] : [{ type: 'organizations', id: changes?.name ?? name }],
    changesAccess: action !== 'create',
  }
}

/** Raised in the transaction that creates an organization, which needs a default project and an owners team. */
export const organizationCreating = domainEvent<{ organizationId: string; ownerId: string }>('organization.creating')

/** Raised before an organization is deleted with its contents, in the same transaction, before rows are locked. */
export const organizationDeleting = domainEvent<{ organizationId: string }>('organization.deleting')

type Body<Name extends string> = {
  attributes: { [Attribute in `${Name}-id`]?: string | null | undefined }
  relationships: { [Relationship in Name]?: { data: { id: string } | null } | undefined }
}

/** The agent pool in a body, and the pointer to it. Null removes it. Newer clients use the relationship instead of the attribute. */
export function requestedPool<Name extends string>({ attributes, relationships }: Body<Name>, name: Name) {
  const attribute = `${name}-id` as const
  const { [attribute]: poolId } = attributes
  const { [name]: related } = relationships
  if (related === undefined || poolId)
    return { poolId: poolId === '' ? null : poolId, pointer: `/data/attributes/${attribute}` }
  return { poolId: related.data?.id ?? null, pointer: `/data/relationships/${name}` }
}

/** Throws `invalid` unless the agent pool and the execution mode that uses it are overwritten together. */
export function checkOverwrites(pool: boolean | null | undefined, mode: boolean | null | undefined) {
  if (typeof pool !== 'boolean' || typeof mode !== 'boolean' || pool === mode) return
  // Clients match this text.
  throw invalid(
    'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
    '/data/attributes/setting-overwrites',
  )
}

export async function requireOrganizationPool(ctx: Ctx, organizationId: string, poolId: string, pointer?: string) {
  const pool = await store.findOrganizationPool(ctx.db, organizationId, poolId)
  if (!pool) throw noPool(poolId, pointer)
  return pool
}

type PoolReference = { poolId: string; pointer?: string }

/** As `requireOrganizationPool`, for use by a workspace: also throws `invalid` when the scope of the pool excludes it. */
export async function requirePoolFor(ctx: Ctx, workspace: store.PoolUser, { poolId, pointer }: PoolReference) {
  const pool = await store.findPoolFor(ctx.db, workspace, poolId)
  if (!pool) throw noPool(poolId, pointer)
  if (!pool.is_open)
    throw invalid(`the agent pool ${pool.name} is not for this workspace: its scope must allow it first`, pointer)
}

function noPool(poolId: string, pointer: string | undefined) {
  // Clients match this text.
  return invalid(
    `The provided agent pool does not exist or you are not authorized to use it: ${poolId} is not a pool of the organization`,
    pointer,
  )
}

/** An organization that the actor may see, with the actor's permissions. */
export type Organization = Omit<AccessRow, 'access'> & {
  can: ReadonlySet<OrganizationPermission>
  access: AccessContext
}

type AccessRow = NonNullable<Awaited<ReturnType<typeof store.findOrganization>>>
