import { z } from 'zod'
import { optionalId, requestBody, toOneOrNone } from './json-api.ts'
import { executionMode } from './organizations.ts'
import { type Written, hasOne, linkedResource, linksToMany, nullable, timestamp, unsupported } from './responses.ts'
import { tagBindingsRelation } from './tags.ts'

/** A duration such as `14d` or `36h`; null disables the feature. */
export const activityDuration = z
  .string()
  .refine((text) => /^\d{1,4}[dh]$/.test(text), {
    error:
      "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
  })
  .refine((text) => !/^0+[dh]$/.test(text), {
    error: ({ input }) => `Auto destroy activity duration is ${JSON.stringify(input)}; it must be above 0`,
  })
  .meta({ maxLength: 5 })
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
  'default-agent-pool-id': optionalId,
  'setting-overwrites': z
    .object({ 'default-execution-mode': z.boolean().nullish(), 'default-agent-pool': z.boolean().nullish() })
    .nullish(),
})
const relationships = z.object({
  'tag-bindings': tagBindingsRelation,
  'default-agent-pool': toOneOrNone('agent-pools').optional(),
})

export const createProjectBody = requestBody('projects', attributes, relationships)
export const updateProjectBody = requestBody('projects', attributes.partial(), relationships)
export type CreateProject = z.infer<typeof createProjectBody>['data']
export type UpdateProject = z.infer<typeof updateProjectBody>['data']

export const projectSchema = linkedResource('projects', {
  attributes: {
    name: z.string(),
    description: nullable.string,
    'created-at': timestamp,
    'auto-destroy-activity-duration': nullable.string.describe(
      'such as `14d` or `36h`; stored, without effect on this server',
    ),
    'default-execution-mode': executionMode.describe("the organization's if the project sets none"),
    'setting-overwrites': z
      .strictObject({ 'default-execution-mode': z.boolean(), 'default-agent-pool': z.boolean() })
      .describe('which settings the project overrides'),
    'workspace-count': z.int(),
    'team-count': nullable.int.describe('null when the caller may not see the teams of the project'),
    'is-unified': unsupported,
    permissions: z.strictObject({
      'can-read': z.boolean(),
      'can-update': z.boolean(),
      'can-destroy': z.boolean(),
      'can-create-workspace': z.boolean(),
      'can-move-workspace': z.boolean(),
      'can-read-teams': z.boolean(),
      'can-manage-teams': z.boolean(),
      'can-manage-tags': z.boolean(),
      'can-manage-varsets': z.boolean(),
      'can-move-stack': unsupported,
      'can-manage-stacks': unsupported,
      'can-view-stacks': unsupported,
      'can-update-stacks': unsupported,
      'can-deploy-no-code-modules': unsupported,
      'can-manage-ephemeral-workspace-for-projects': z.boolean(),
    }),
  },
  relationships: {
    organization: hasOne('organizations'),
    'default-agent-pool': hasOne('agent-pools'),
    'tag-bindings': linksToMany('tag-bindings'),
    'effective-tag-bindings': linksToMany('effective-tag-bindings'),
  },
})
export type ProjectResource = Written<typeof projectSchema>
