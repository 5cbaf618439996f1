import { z } from 'zod'
import { type Written, hasOne, resource } from './responses.ts'

/** The README of the current configuration of a workspace. The id is the workspace's. */
export const workspaceReadmeSchema = resource(
  'workspace-readmes',
  {
    attributes: {
      path: z.string().describe('from the root of the configuration'),
      'raw-markdown': z.string().describe('at most 256 KiB of it'),
      'is-cut': z.boolean().describe('whether the file is longer'),
    },
    relationships: {
      workspace: hasOne('workspaces'),
      'configuration-version': hasOne('configuration-versions'),
    },
    links: { self: z.string() },
  },
  'WorkspaceReadme',
)
export type WorkspaceReadmeResource = Written<typeof workspaceReadmeSchema>
