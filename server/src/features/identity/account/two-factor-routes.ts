import type { RecoveryCodesResource, TwoFactorEnrollmentResource } from '@groundstate/contract/account'
import { confirmPasswordBody, confirmTwoFactorBody, verifyTwoFactorBody } from '@groundstate/contract/users'
import { noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { disableTwoFactor, finishTwoFactor, renewRecoveryCodes, startTwoFactor } from './service.ts'

const NO_STORE = { 'cache-control': 'no-store' }

export const twoFactorRoutes: Routes = (http) => {
  http.post('/account/two-factor/actions/enroll', { body: confirmPasswordBody }, async (req) => {
    const { secret, uri } = await startTwoFactor(req.ctx, req.body.data.attributes.password)
    const resource = {
      id: 'enrollment',
      type: 'two-factor',
      attributes: { secret, uri },
    } satisfies TwoFactorEnrollmentResource
    return { ...ok(resource), headers: NO_STORE }
  })

  http.post('/account/two-factor/actions/verify', { body: verifyTwoFactorBody }, async (req) =>
    recoveryCodes(await finishTwoFactor(req.ctx, req.body.data.attributes.otp)),
  )

  http.post('/account/two-factor/actions/renew-recovery-codes', { body: confirmTwoFactorBody }, async (req) =>
    recoveryCodes(await renewRecoveryCodes(req.ctx, req.body.data.attributes)),
  )

  http.post('/account/two-factor/actions/disable', { body: confirmTwoFactorBody }, async (req) => {
    await disableTwoFactor(req.ctx, req.body.data.attributes)
    return noContent()
  })
}

function recoveryCodes(codes: string[]) {
  const attributes = { 'recovery-codes': codes }
  const resource = { id: 'recovery-codes', type: 'two-factor', attributes } satisfies RecoveryCodesResource
  return { ...ok(resource), headers: NO_STORE }
}
