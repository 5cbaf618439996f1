import { z } from 'zod'
import { requestBody, toMany, toOne } from './json-api.ts'
import { variableAttributes } from './variables.ts'

const attributes = z.object({
  name: z
    .string()
    .trim()
    .min(1, "Name can't be blank")
    .max(90, 'Name is too long (maximum is 90 characters)')
    .refine((text) => !text.includes('\0'), { error: 'Name must not contain null bytes' }),
  description: z.string().max(4000).nullish(),
  global: z.boolean().nullish(),
  priority: z.boolean().nullish(),
})

const scope = { workspaces: toMany('workspaces').optional(), projects: toMany('projects').optional() }
const createRelationships = z.object({
  ...scope,
  /** The project or organization that owns the set. */
  parent: z.union([toOne('projects'), toOne('organizations')]).optional(),
  vars: z.object({ data: z.array(z.object({ type: z.literal('vars'), attributes: variableAttributes })) }).optional(),
})

export const createVariableSetBody = requestBody('varsets', attributes, createRelationships)
export const updateVariableSetBody = requestBody('varsets', attributes.partial(), z.object(scope))
export type CreateVariableSet = z.infer<typeof createVariableSetBody>['data']
export type UpdateVariableSet = z.infer<typeof updateVariableSetBody>['data']
