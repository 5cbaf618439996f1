import { resource } from './responses.ts'

/** Policies are not evaluated here, so lists of policy evaluations are always empty. */
export const policyEvaluationSchema = resource('policy-evaluations', {}, 'PolicyEvaluation')
