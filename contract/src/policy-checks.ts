import { resource } from './responses.ts'

/** Policies are not evaluated here, so lists of policy checks are always empty. */
export const policyCheckSchema = resource('policy-checks', {}, 'PolicyCheck')
