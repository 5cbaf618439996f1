import { z } from 'zod'
import type { Written } from './answers.ts'

/** The process runs. */
export const livenessAnswer = z.strictObject({ status: z.literal('ok') })
export type LivenessAnswer = Written<typeof livenessAnswer>

/** The process runs and its database answers. */
export const readinessAnswer = z.strictObject({ status: z.literal('ready') })
export type ReadinessAnswer = Written<typeof readinessAnswer>
