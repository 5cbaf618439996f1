import { z } from 'zod'
import { type Written, hasOne, resource, timestamp } from './responses.ts'

/** One instance of a resource in a workspace's current state. */
export const workspaceResourceSchema = resource(
  'resources',
  {
    attributes: {
      address: z.string().describe('such as `net.aws_subnet.a[0]`, without the keyword `module` of the engine'),
      name: z.string(),
      'created-at': timestamp.describe('of the current state version'),
      'updated-at': timestamp.describe('of the current state version'),
      module: z.string().describe('`root`, or the names of the modules, such as `net.deep`'),
      provider: z.string().describe('such as `hashicorp/random`'),
      'provider-type': z.string().describe('type of the resource, such as `random_pet`'),
      'modified-by-state-version-id': z.string().describe('the current state version'),
      'name-index': z.string().nullable().describe('the key or number of the instance; null without count or for_each'),
      tainted: z
        .boolean()
        .nullable()
        .describe('our own: whether the next apply makes it anew; null when the state was read before this was kept'),
    },
  },
  'WorkspaceResource',
)
export type WorkspaceResourceResource = Written<typeof workspaceResourceSchema>

const countedName = z.strictObject({ name: z.string(), count: z.int() })

/** How many instances of resources a workspace's current state has. Not part of the public API. */
export const resourceCountsSchema = resource(
  'resource-counts',
  {
    attributes: {
      total: z.int(),
      modules: z
        .array(countedName)
        .describe('by the name that resources have in `module`, the largest first, at most 1000'),
      types: z.array(countedName).describe('by `provider-type`, the largest first, at most 1000'),
    },
    relationships: { workspace: hasOne('workspaces') },
    links: { self: z.string() },
  },
  'ResourceCounts',
)
export type ResourceCountsResource = Written<typeof resourceCountsSchema>
