import { z } from 'zod'
import type { Written } from './responses.ts'

/** The process runs. */
export const livenessResponse = z.strictObject({ status: z.literal('ok') })
export type LivenessResponse = Written<typeof livenessResponse>

/** The process runs and its database answers. */
export const readinessResponse = z.strictObject({ status: z.literal('ready') })
export type ReadinessResponse = Written<typeof readinessResponse>
