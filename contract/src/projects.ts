import { z } from 'zod'
import { requestBody } from './json-api.ts'
import { executionMode } from './organizations.ts'
import { tagBindingsRelation } from './tags.ts'

/** `14d` or `36h`; null switches it off. */
export const activityDuration = z
  .string()
  .refine((text) => /^\d{1,4}[dh]$/.test(text), {
    error:
      "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
  })
  .nullish()

const name = z
  .string()
  .trim()
  .min(1, { error: "Name can't be blank", abort: true })
  .max(100, 'Name is too long (maximum is 100 characters)')
  .refine((text) => /^[\p{L}\p{N}_-]([\p{L}\p{N} _-]*[\p{L}\p{N}_-])?$/u.test(text), {
    error: ({ input }) =>
      `Name may only contain letters, numbers, spaces, underscores and hyphens: it is ${JSON.stringify(input)}`,
  })

const attributes = z.object({
  name,
  description: z.string().max(256).nullish(),
  'auto-destroy-activity-duration': activityDuration,
  'default-execution-mode': executionMode.nullish(),
  'default-agent-pool-id': z.string().nullish(),
  'setting-overwrites': z
    .object({ 'default-execution-mode': z.boolean().nullish(), 'default-agent-pool': z.boolean().nullish() })
    .nullish(),
})
const relationships = z.object({
  'tag-bindings': tagBindingsRelation,
  'default-agent-pool': z
    .object({ data: z.object({ type: z.literal('agent-pools'), id: z.string() }).nullable() })
    .optional(),
})

export const createProjectBody = requestBody('projects', attributes, relationships)
export const updateProjectBody = requestBody('projects', attributes.partial(), relationships)
export type CreateProject = z.infer<typeof createProjectBody>['data']
export type UpdateProject = z.infer<typeof updateProjectBody>['data']
