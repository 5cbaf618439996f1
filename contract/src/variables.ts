import { z } from 'zod'
import { boundedList, requestBody, resourceId, toOne } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

const VALUE_BYTES = 256 * 1024
const encoder = new TextEncoder()

export const variableValue = z
  .string()
  .refine((text) => encoder.encode(text).length <= VALUE_BYTES, { error: 'value is too long (maximum is 256 KB)' })
  .refine((text) => !text.includes('\0'), { error: 'value must not contain null bytes' })
  .meta({ maxLength: VALUE_BYTES })

export const variableCategory = z.enum(['terraform', 'env'])

const attributes = z.object({
  key: z.string().min(1, "key can't be blank").max(256),
  value: variableValue.nullish(),
  description: z.string().max(512).nullish(),
  category: variableCategory,
  hcl: z.boolean().nullish(),
  sensitive: z.boolean().nullish(),
})

/** Names that the engine cannot declare are accepted, as in the public API: no run uses them. */
const TERRAFORM_KEY = /^\p{ID_Continue}[\p{ID_Continue}-]*$/u
// oxlint-disable-next-line no-control-regex -- a null byte would truncate the name in the engine's environment
const ENV_KEY = /^[^=\s\0]+$/

/** Reason why a variable of the category cannot have the key; undefined when it can. */
export function variableKeyProblem(category: z.infer<typeof variableCategory>, key: string) {
  if (category === 'terraform' && !TERRAFORM_KEY.test(key)) {
    return `key ${JSON.stringify(key)} is not a valid variable name: it must start with a letter, number or underscore and may only contain these and hyphens`
  }
  if (category === 'env' && !ENV_KEY.test(key)) {
    return `key ${JSON.stringify(key)} is not a valid environment variable name: it must not contain spaces or equals signs`
  }
  return undefined
}

export const variableAttributes = attributes
export const createVariableBody = requestBody('vars', attributes)
const changedVariable = z.object({
  type: z.literal('vars'),
  id: resourceId,
  attributes: attributes.partial().optional(),
})
/** The public API has its own error, 400, for more than 1,000 changes. */
export const updateVariablesBody = z.object({ data: boundedList(changedVariable, 10_000) })
export type UpdateVariables = z.infer<typeof updateVariablesBody>['data']
export const updateVariableBody = requestBody('vars', attributes.partial())
export type CreateVariable = z.infer<typeof attributes>
export type UpdateVariable = Partial<CreateVariable>

/** The older form, with the workspace in the body. */
export const createLegacyVariableBody = requestBody('vars', attributes, z.object({ workspace: toOne('workspaces') }))

export const variableSchema = linkedResource('vars', {
  name: 'Variable',
  attributes: {
    key: z.string(),
    value: nullable.string.describe('null when `sensitive`: sensitive values are write-only'),
    sensitive: z.boolean(),
    category: variableCategory.describe('`terraform` for an input variable, `env` for an environment variable'),
    hcl: z.boolean().describe('whether the value is an HCL expression rather than a literal'),
    description: z.string(),
    'created-at': timestamp,
    'version-id': z.string().describe('changes with every update'),
    'in-force-by': z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('workspace') }),
        z.strictObject({
          kind: z.literal('set'),
          name: z.string(),
          priority: z.boolean().describe('whether it takes precedence over the variables of the workspace'),
          scope: z.enum(['workspace', 'project', 'global']).describe('how the set applies to the workspace'),
        }),
      ])
      .optional()
      .describe('our own, in the list of effective variables: the source of the variable'),
  },
  relationships: {
    varset: hasOne('varsets').optional().describe('of a variable in a variable set'),
    configurable: hasOne('workspaces').optional().describe("of a workspace's own variable"),
    overwriter: hasOne('vars').optional().describe('the variable that takes precedence in the workspace'),
    overwritten: hasMany('vars').optional().describe('variables that this one takes precedence over'),
  },
})
export type VariableResource = Written<typeof variableSchema>
