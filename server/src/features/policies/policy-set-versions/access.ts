import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { findUserActor } from '../../identity/users/access.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import { requirePolicySet } from '../policy-sets/access.ts'
import * as store from './store.ts'
import { readUploadUrl, uploadDeadline } from './urls.ts'

export type PolicySetVersion = store.VersionRow & { canUpload: boolean }

/** Throws `not-found` for a version that the actor may not see. */
export async function requirePolicySetVersion(ctx: Ctx, id: string) {
  const [version] = await listReadableVersions(ctx, [id])
  if (!version) throw notFound('policy set version')
  return version
}

export async function listReadableVersions(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findVersions(ctx.db, ids)
  const organizations = await listReadableOrganizations(ctx, [...new Set(rows.map((row) => row.organization_id))])
  const byId = new Map(organizations.map(({ id, can }) => [id, can]))
  return rows.flatMap((row): PolicySetVersion[] => {
    const can = byId.get(row.organization_id)
    return can?.has('policies:read') ? [{ ...row, canUpload: can.has('policies:manage') }] : []
  })
}

/** The version of an upload URL, and its creator as the actor, if it was a user. Throws `not-found` for an invalid URL, `forbidden` for an expired one. */
export async function requireUpload(ctx: Ctx, token: string) {
  const grant = readUploadUrl(ctx, token)
  const [version] = 'id' in grant ? await store.findVersions(ctx.db, [grant.id]) : []
  if ('problem' in grant && grant.problem === 'expired') throw expired()
  if (!version) throw notFound('upload')
  if (ctx.now() >= uploadDeadline(version)) throw expired()
  if (version.created_by_user_id === null) return { ctx, version }
  const actor = await findUserActor(ctx, version.created_by_user_id)
  if (!actor) throw forbidden(`the account that created ${version.id} is deleted or suspended: create a new version`)
  const asCreator: Ctx = { ...ctx, actor }
  await requirePolicySet(asCreator, version.policy_set_id, 'policies:manage')
  return { ctx: asCreator, version }
}

function expired() {
  return forbidden('the upload URL has expired: create a new version, and upload within 25 hours')
}

type Audited = { id: string; policy_set_id: string; organization_id: string }

export function versionAudit(version: Audited, action: string, meta: object = {}): AuditEvent {
  return {
    organizationId: version.organization_id,
    action,
    resource: { type: 'policy_set_version', id: version.id },
    meta: { policy_set: version.policy_set_id, ...meta },
    notices: [{ type: 'policy-sets', id: version.policy_set_id }],
  }
}
