import { z } from 'zod'
import { requestBody, toMany } from './json-api.ts'
import { resourceName } from './organizations.ts'
import { type Written, hasMany, hasOne, linkedResource, linksToMany, nullable, timestamp } from './responses.ts'

const attributes = z.object({
  name: resourceName('Name'),
  /** Whether every workspace of the organization may use the pool, not only the allowed ones. */
  'organization-scoped': z.boolean().nullish(),
  'max-concurrent-jobs': z
    .int()
    .min(1)
    .max(100_000)
    .nullish()
    .describe("our own: maximum number of jobs that the pool's agents run concurrently; null for no limit"),
})
const relationships = z.object({
  'allowed-workspaces': toMany('workspaces').optional(),
  'allowed-projects': toMany('projects').optional(),
  'excluded-workspaces': toMany('workspaces').optional(),
})

export const createAgentPoolBody = requestBody('agent-pools', attributes, relationships)
export type CreateAgentPool = z.infer<typeof createAgentPoolBody>['data']

export const updateAgentPoolBody = requestBody('agent-pools', attributes.partial(), relationships)
export type UpdateAgentPool = z.infer<typeof updateAgentPoolBody>['data']

/** Existing clients send the type `agent-tokens`; `authentication-tokens` is the documented one. */
export const createAgentTokenBody = requestBody(
  z.enum(['authentication-tokens', 'agent-tokens']),
  z.object({
    description: z
      .string()
      .refine((text) => text.trim() !== '', { error: "description can't be blank" })
      .max(255, 'at most 255 characters'),
  }),
)

export const agentPoolSchema = linkedResource('agent-pools', {
  attributes: {
    name: z.string(),
    'created-at': timestamp,
    'organization-scoped': z
      .boolean()
      .describe('whether every workspace of the organization may use the pool, and not only the allowed ones'),
    'agent-count': z.int().describe('agents that are online'),
    'agent-counts': z
      .strictObject({ idle: z.int(), busy: z.int(), unknown: z.int(), errored: z.int() })
      .describe('our own: agents that have not deregistered, by status'),
    'max-concurrent-jobs': nullable.int.describe(
      "our own: maximum number of jobs that the pool's agents run concurrently; null for no limit",
    ),
  },
  relationships: {
    organization: hasOne('organizations'),
    agents: linksToMany('agents'),
    'authentication-tokens': linksToMany('authentication-tokens'),
    workspaces: hasMany('workspaces').describe('the workspaces that use the pool'),
    'allowed-workspaces': hasMany('workspaces'),
    'excluded-workspaces': hasMany('workspaces'),
    'allowed-projects': hasMany('projects'),
  },
})
export type AgentPoolResource = Written<typeof agentPoolSchema>
