import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { asUploader } from '../../identity/tokens/uploader.ts'
import { requireOrganizationById, requirePart } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'
import { openUploadUrl } from './urls.ts'

const MANAGE = { noun: 'policy trial', permission: 'policies:manage' } as const

/** Throws `not-found` for a trial of an organization whose policies the actor does not manage. */
export async function requireTrial(ctx: Ctx, id: string) {
  return requirePart(ctx, await store.findTrial(ctx.db, id), { ...MANAGE, read: 'policies:manage' })
}

/** As `requireTrial`, but throws `forbidden` for those who may only read policies. */
export async function requireTrialToCancel(ctx: Ctx, id: string) {
  return requirePart(ctx, await store.findTrial(ctx.db, id), { ...MANAGE, read: 'policies:read' })
}

/** The trial of an upload URL, with the caller who got it as the actor. Throws `not-found` for an invalid URL, `forbidden` for an expired one. */
export async function requireUpload(ctx: Ctx, token: string) {
  const { id, by } = openUploadUrl(ctx, token)
  const trial = await store.findTrial(ctx.db, id)
  if (!trial) throw notFound('upload')
  const uploader = await asUploader(ctx, { by, organizationId: trial.organization_id })
  await requireOrganizationById(uploader, trial.organization_id, 'policies:manage')
  return { ctx: uploader, trial }
}

type Audited = { id: string; organization_id: string; policy_set_id: string | null }

export function trialAudit(trial: Audited, action: string, meta: object = {}): AuditEvent {
  return {
    organizationId: trial.organization_id,
    action,
    resource: { type: 'policy_trial', id: trial.id },
    meta: { policy_set: trial.policy_set_id ?? undefined, ...meta },
    notices: [{ type: 'policy-trials', id: trial.id }],
  }
}
