import { z } from 'zod'
import { type Written, linkedResource, resource } from './responses.ts'

export const stateVersionOutputSchema = linkedResource('state-version-outputs', {
  attributes: {
    name: z.string(),
    sensitive: z.boolean(),
    type: z
      .string()
      .describe('as a JSON type: `string`, `number`, `boolean`, `array`, `object`, or `dynamic` for a null'),
    value: z.unknown().describe('any JSON; null when a sensitive value is withheld'),
    'detailed-type': z.unknown().describe('the type as the engine writes it, such as `["list", "string"]`'),
  },
})
export type StateVersionOutputResource = Written<typeof stateVersionOutputSchema>

/** An output of a workspace's current state, as included with workspaces. */
export const workspaceOutputSchema = resource('workspace-outputs', {
  attributes: {
    name: z.string(),
    sensitive: z.boolean(),
    'output-type': z
      .string()
      .describe('as a JSON type: `string`, `number`, `boolean`, `array`, `object`, or `dynamic` for a null'),
    value: z.unknown().describe('any JSON; null when `sensitive`'),
  },
})
export type WorkspaceOutputResource = Written<typeof workspaceOutputSchema>
