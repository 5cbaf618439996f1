import { resource } from './responses.ts'

/** Policies are not evaluated, so lists of policy checks and evaluations are always empty. */
export const policyCheckSchema = resource('policy-checks', {})

export const policyEvaluationSchema = resource('policy-evaluations', {})
