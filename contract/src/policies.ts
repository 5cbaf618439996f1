import { resource } from './responses.ts'

/** Policies are not evaluated, so lists of policy checks are always empty. */
export const policyCheckSchema = resource('policy-checks', {})

/** Policies are not evaluated, so lists of policy evaluations are always empty. */
export const policyEvaluationSchema = resource('policy-evaluations', {})
