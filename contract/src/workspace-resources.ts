import { z } from 'zod'
import { resource, timestamp, type Written } from './answers.ts'

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
    },
  },
  'WorkspaceResource',
)
export type WorkspaceResourceResource = Written<typeof workspaceResourceSchema>
