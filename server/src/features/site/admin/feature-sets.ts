import type { Plan } from './store.ts'

/** The plans under the name that existing clients ask for: their tests look for `Business`, the one without limits. */
export const FEATURE_SETS = [
  { id: 'fs-free', name: 'Free', plan: 'free' },
  { id: 'fs-standard', name: 'Standard', plan: 'standard' },
  { id: 'fs-unlimited', name: 'Business (unlimited)', plan: 'unlimited' },
] as const satisfies readonly { id: string; name: string; plan: Plan }[]
export type FeatureSet = (typeof FEATURE_SETS)[number]
