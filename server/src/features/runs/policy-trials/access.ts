import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { findUserActor } from '../../identity/users/access.ts'
import { requireOrganizationById, requirePart } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'
import { readUploadUrl } from './urls.ts'

const MANAGE = { noun: 'policy trial', permission: 'policies:manage' } as const

/** Throws `not-found` for a trial of an organization whose policies the actor does not manage. */
export async function requireTrial(ctx: Ctx, id: string) {
  return requirePart(ctx, await store.findTrial(ctx.db, id), { ...MANAGE, read: 'policies:manage' })
}

/** As `requireTrial`, but throws `forbidden` for those who may only read policies. */
export async function requireTrialToCancel(ctx: Ctx, id: string) {
  return requirePart(ctx, await store.findTrial(ctx.db, id), { ...MANAGE, read: 'policies:read' })
}

/** The trial of an upload URL, and its creator as the actor. Throws `not-found` for an invalid URL, `forbidden` for an expired one. */
export async function requireUpload(ctx: Ctx, token: string) {
  const grant = readUploadUrl(ctx, token)
  if ('problem' in grant && grant.problem === 'expired')
    throw forbidden('the upload URL has expired: create a new trial, and upload within an hour')
  const trial = 'id' in grant ? await store.findTrial(ctx.db, grant.id) : undefined
  if (!trial) throw notFound('upload')
  if (trial.created_by_user_id === null) return { ctx, trial }
  const actor = await findUserActor(ctx, trial.created_by_user_id)
  if (!actor) throw forbidden(`the account that created ${trial.id} is deleted or suspended: create a new trial`)
  const asCreator: Ctx = { ...ctx, actor }
  await requireOrganizationById(asCreator, trial.organization_id, 'policies:manage')
  return { ctx: asCreator, trial }
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
