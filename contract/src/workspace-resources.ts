import { z } from 'zod'
import { type Written, hasOne, linkedResource, nullable, resource, timestamp } from './responses.ts'

export const workspaceResourceSchema = resource('resources', {
  name: 'WorkspaceResource',
  attributes: {
    address: z.string().describe('such as `net.aws_subnet.a[0]`, without the keyword `module` of the engine'),
    name: z.string(),
    'created-at': timestamp.describe('of the current state version'),
    'updated-at': timestamp.describe('of the current state version'),
    module: z.string().describe('`root`, or the names of the modules, such as `net.deep`'),
    provider: z.string().describe('such as `hashicorp/random`'),
    'provider-type': z.string().describe('type of the resource, such as `random_pet`'),
    'modified-by-state-version-id': z.string().describe('the current state version'),
    'name-index': nullable.string.describe('the key or number of the instance; null without count or for_each'),
    tainted: z
      .boolean()
      .nullable()
      .describe(
        'our own: whether the next apply recreates it; null when the state was extracted before this was recorded',
      ),
  },
})
export type WorkspaceResourceResource = Written<typeof workspaceResourceSchema>

const countedName = z.strictObject({ name: z.string(), count: z.int() })

/** Number of resource instances in a workspace's current state. Not part of the public API. */
export const resourceCountsSchema = linkedResource('resource-counts', {
  name: 'ResourceCounts',
  attributes: {
    total: z.int(),
    modules: z.array(countedName).describe('by `module`, largest first, at most 1000'),
    types: z.array(countedName).describe('by `provider-type`, largest first, at most 1000'),
  },
  relationships: { workspace: hasOne('workspaces') },
})
export type ResourceCountsResource = Written<typeof resourceCountsSchema>

/** The README of the current configuration of a workspace. The id is the workspace's. */
export const workspaceReadmeSchema = linkedResource('workspace-readmes', {
  attributes: {
    path: z.string().describe('from the root of the configuration'),
    'raw-markdown': z.string().describe('truncated to 256 KiB'),
    'is-cut': z.boolean().describe('whether the text was truncated'),
  },
  relationships: {
    workspace: hasOne('workspaces'),
    'configuration-version': hasOne('configuration-versions'),
  },
})
export type WorkspaceReadmeResource = Written<typeof workspaceReadmeSchema>
