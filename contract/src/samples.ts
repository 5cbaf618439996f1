import { z } from 'zod'
import { type Written, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

const part = {
  type: z.enum(['workspaces', 'run-triggers', 'tasks', 'workspace-tasks', 'varsets', 'projects']),
  id: z.string(),
  name: z.string(),
}

export const sampleSchema = linkedResource('samples', {
  attributes: {
    'created-at': timestamp,
    'is-complete': z.boolean().describe('false when a part was deleted: creating the sample again restores it'),
    removes: z
      .array(
        z.strictObject({
          ...part,
          detail: nullable.string.describe('what is lost with it; null for nothing of note'),
        }),
      )
      .describe('parts that are deleted with the sample, limited to what the caller may see'),
    keeps: z
      .array(z.strictObject({ ...part, reason: z.string() }))
      .describe('parts that are kept when the sample is removed, and why'),
  },
  relationships: {
    organization: hasOne('organizations'),
    'created-by': hasOne('users'),
    project: hasOne('projects'),
    network: hasOne('workspaces').describe('the workspace whose applies trigger runs in `app`'),
    app: hasOne('workspaces'),
    'variable-set': hasOne('varsets'),
    task: hasOne('tasks'),
    run: hasOne('runs').describe('the latest run of `network`; none until its configuration is uploaded'),
  },
})
export type SampleResource = Written<typeof sampleSchema>
