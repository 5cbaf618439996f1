import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { asUploader } from '../../identity/tokens/uploader.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import { requirePolicySet } from '../policy-sets/access.ts'
import * as store from './store.ts'
import { openUploadUrl } from './urls.ts'

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

/** The version of an upload URL, with the caller who got it as the actor. Throws `not-found` for an invalid URL, `forbidden` for an expired one. */
export async function requireUpload(ctx: Ctx, token: string) {
  const { id, by } = openUploadUrl(ctx, token)
  const [version] = await store.findVersions(ctx.db, [id])
  if (!version) throw notFound('upload')
  const uploader = await asUploader(ctx, { by, organizationId: version.organization_id })
  await requirePolicySet(uploader, version.policy_set_id, 'policies:manage')
  return { ctx: uploader, version }
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
