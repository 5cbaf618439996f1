import type { Plan } from './store.ts'

/** The plans, under names that existing clients expect: their tests look for `Business`, which has no limits. */
export const FEATURE_SETS = [
  { id: 'fs-free', name: 'Free', plan: 'free' },
  { id: 'fs-standard', name: 'Standard', plan: 'standard' },
  { id: 'fs-unlimited', name: 'Business (unlimited)', plan: 'unlimited' },
] as const satisfies readonly { id: string; name: string; plan: Plan }[]
export type FeatureSet = (typeof FEATURE_SETS)[number]
