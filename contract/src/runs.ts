import { z } from 'zod'
import { commentBody, requestBody, toOne } from './json-api.ts'

const address = z.string().min(1).max(2000)
const addresses = z.array(address).max(1000).nullish()

const attributes = z.object({
  message: z.string().max(10_000).nullish(),
  'is-destroy': z.boolean().nullish(),
  refresh: z.boolean().nullish(),
  'refresh-only': z.boolean().nullish(),
  'plan-only': z.boolean().nullish(),
  'save-plan': z.boolean().nullish(),
  'auto-apply': z.boolean().nullish(),
  'allow-empty-apply': z.boolean().nullish(),
  'allow-config-generation': z.boolean().nullish(),
  'debugging-mode': z.boolean().nullish(),
  'target-addrs': addresses,
  'replace-addrs': addresses,
  /** To leave them out would make a run of everything, so they are refused rather than dropped. */
  'invoke-action-addrs': z.array(address).max(0, 'actions can not be invoked by themselves here').nullish(),
  /** Each value is an HCL expression, `"\"text\""` for a string. */
  variables: z
    .array(z.object({ key: z.string().min(1).max(255), value: z.string() }))
    .max(1000)
    .nullish(),
  /** For a plan-only run: another engine version than the workspace's. */
  'terraform-version': z.string().min(1).max(100).nullish(),
  'engine-version': z.string().min(1).max(100).nullish(),
})

const relationships = z.object({
  workspace: toOne('workspaces'),
  'configuration-version': toOne('configuration-versions').nullish(),
})

export const createRunBody = requestBody('runs', attributes, relationships)
export type CreateRun = z.infer<typeof attributes>

export const createCommentBody = requestBody('comments', z.object({ body: z.string().min(1).max(10_000) }))

/** Run actions take `{"comment": "…"}` as plain JSON, or nothing. */
export const runActionBody = commentBody
