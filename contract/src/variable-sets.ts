import { z } from 'zod'
import { boundedList, requestBody, resourceId, toMany, toTyped } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, resource, timestamp } from './responses.ts'
import { variableAttributes, variableCategory } from './variables.ts'

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
  parent: toTyped('projects', 'organizations').optional(),
  vars: z
    .object({ data: boundedList(z.object({ type: z.literal('vars'), attributes: variableAttributes })) })
    .optional(),
})

export const createVariableSetBody = requestBody('varsets', attributes, createRelationships)
/** New variables, and changes to existing ones by id; others are kept. */
const changedVariables = boundedList(
  z.union([
    z.object({ type: z.literal('vars'), id: resourceId, attributes: variableAttributes.partial().optional() }),
    z.object({ type: z.literal('vars'), id: z.undefined().optional(), attributes: variableAttributes }),
  ]),
)
const updateRelationships = z.object({ ...scope, vars: z.object({ data: changedVariables }).optional() })
export const updateVariableSetBody = requestBody('varsets', attributes.partial(), updateRelationships)
export type CreateVariableSet = z.infer<typeof createVariableSetBody>['data']
export type UpdateVariableSet = z.infer<typeof updateVariableSetBody>['data']

export const variableSetSchema = linkedResource('varsets', {
  name: 'VariableSet',
  attributes: {
    name: z.string(),
    description: z.string(),
    global: z.boolean().describe('whether the set applies to all workspaces of its parent'),
    priority: z.boolean().describe("whether its variables take precedence over the workspaces' own"),
    'created-at': timestamp,
    'updated-at': timestamp,
    'var-count': z.int(),
    'workspace-count': z.int().describe('workspaces that the caller may see'),
    'project-count': z.int().describe('projects that the caller may see'),
    'stack-count': z.literal(0),
    permissions: z.strictObject({ 'can-update': z.boolean() }).describe("the caller's permissions on the set"),
  },
  relationships: {
    organization: hasOne('organizations'),
    parent: hasOne('organizations', 'projects').describe('the owner of the set'),
    vars: hasMany('vars'),
    workspaces: hasMany('workspaces'),
    projects: hasMany('projects'),
    stacks: hasMany('stacks').describe('always empty: this server has no stacks'),
  },
})
export type VariableSetResource = Written<typeof variableSetSchema>

/** How a set applies to a workspace; the narrowest where several apply. */
export const SET_SCOPES = ['workspace', 'project', 'global'] as const

/** A workspace to which a set applies. The id is that of the workspace. */
export const setWorkspaceSchema = resource('varset-workspaces', {
  name: 'VariableSetWorkspace',
  attributes: {
    name: z.string(),
    scope: z.enum(SET_SCOPES).describe('how the set applies to the workspace'),
    overridden: z
      .array(
        z.strictObject({
          key: z.string(),
          category: variableCategory,
          by: z.string().nullable().describe('the name of the set that overrides it; null for the workspace itself'),
        }),
      )
      .nullable()
      .describe(
        'variables of the set that are overridden in the workspace; null without permission to read its variables',
      ),
  },
  relationships: { workspace: hasOne('workspaces'), project: hasOne('projects') },
})
export type SetWorkspaceResource = Written<typeof setWorkspaceSchema>
