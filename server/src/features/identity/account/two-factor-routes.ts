import {
  type RecoveryCodesResource,
  type TwoFactorEnrollmentResource,
  recoveryCodesSchema,
  twoFactorEnrollmentSchema,
} from '@groundstate/contract/account'
import { documentOf } from '@groundstate/contract/responses'
import { confirmPasswordBody, confirmTwoFactorBody, verifyTwoFactorBody } from '@groundstate/contract/users'
import type { Routes } from '../../../http/http.ts'
import { noContent, ok, unstored } from '../../../http/responses.ts'
import { disableTwoFactor, enrollTwoFactor, renewRecoveryCodes, verifyTwoFactor } from './manage-two-factor.ts'

const ENROLL = {
  summary: 'Start to set up two-factor authentication',
  access: 'person',
  audit: 'user enroll_two_factor',
  body: confirmPasswordBody,
  responses: { 200: documentOf(twoFactorEnrollmentSchema) },
} as const
const RECOVERY_CODES = { 200: documentOf(recoveryCodesSchema) }
const VERIFY = {
  summary: 'Enable two-factor authentication',
  access: 'person',
  audit: 'user enable_two_factor',
  body: verifyTwoFactorBody,
  responses: RECOVERY_CODES,
} as const
const RENEW = {
  summary: 'Replace the recovery codes',
  access: 'person',
  audit: 'user renew_recovery_codes',
  body: confirmTwoFactorBody,
  responses: RECOVERY_CODES,
} as const
const DISABLE = {
  summary: 'Disable two-factor authentication',
  access: 'person',
  audit: 'user disable_two_factor',
  body: confirmTwoFactorBody,
  responses: { 204: null },
} as const

export const twoFactorRoutes: Routes = (http) => {
  http.post('/account/two-factor/actions/enroll', ENROLL, async (req) => {
    const { secret, uri } = await enrollTwoFactor(req.ctx, req.body.data.attributes.password)
    const resource = {
      id: 'enrollment',
      type: 'two-factor',
      attributes: { secret, uri },
    } satisfies TwoFactorEnrollmentResource
    return unstored(ok(resource))
  })

  http.post('/account/two-factor/actions/verify', VERIFY, async (req) =>
    recoveryCodes(await verifyTwoFactor(req.ctx, req.body.data.attributes.otp)),
  )

  http.post('/account/two-factor/actions/renew-recovery-codes', RENEW, async (req) =>
    recoveryCodes(await renewRecoveryCodes(req.ctx, req.body.data.attributes)),
  )

  http.post('/account/two-factor/actions/disable', DISABLE, async (req) => {
    await disableTwoFactor(req.ctx, req.body.data.attributes)
    return noContent()
  })
}

function recoveryCodes(codes: string[]) {
  const attributes = { 'recovery-codes': codes }
  const resource = { id: 'recovery-codes', type: 'two-factor', attributes } satisfies RecoveryCodesResource
  return unstored(ok(resource))
}
