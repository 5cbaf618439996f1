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
/** New variables, and changes of the set's own by their ids; those that are not named stay. */
const changedVariables = z.array(
  z.union([
    z.object({ type: z.literal('vars'), id: z.string().min(1), attributes: variableAttributes.partial().optional() }),
    z.object({ type: z.literal('vars'), id: z.undefined().optional(), attributes: variableAttributes }),
  ]),
)
const updateRelationships = z.object({ ...scope, vars: z.object({ data: changedVariables }).optional() })
export const updateVariableSetBody = requestBody('varsets', attributes.partial(), updateRelationships)
export type CreateVariableSet = z.infer<typeof createVariableSetBody>['data']
export type UpdateVariableSet = z.infer<typeof updateVariableSetBody>['data']
