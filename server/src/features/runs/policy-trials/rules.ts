import type { Ctx } from '../../../app.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import type { PolicyWork, WorkSet } from '../../policies/policy-requests/policy-request.ts'

/** The policies of a trial, the same for all of its runs. */
export type TrialRules = { opa: PolicyWork['opa']; set: WorkSet }

export const sealedTrialRules = sealedColumn('policy_trials.rules', ['id'], ({ id }) => `${id}/policy-trial`)

/** Encrypts the rules for their column: they contain sensitive parameters. */
export function sealRules({ secrets }: Pick<Ctx, 'secrets'>, id: string, rules: TrialRules) {
  return secrets.seal(JSON.stringify(rules), sealedTrialRules.context({ id }))
}

export function openRules({ secrets }: Pick<Ctx, 'secrets'>, { id, rules }: { id: string; rules: Buffer }) {
  return JSON.parse(secrets.openText(rules, sealedTrialRules.context({ id }))) as TrialRules
}
