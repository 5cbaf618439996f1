import { z } from 'zod'
import { commentBody, boundedList, requestBody, toOne } from './json-api.ts'
import { type Written, hasMany, hasOne, linksToMany, resource, statusTimestamps, timestamp } from './responses.ts'
import { RUN_STATUS } from './run-status.ts'
import { variableValue } from './variables.ts'

export const RUN_SOURCES = [
  'tfe-api',
  'tfe-ui',
  'tfe-configuration-version',
  'tfe-run-trigger',
  'terraform',
  'terraform+cloud',
] as const

const address = z.string().min(1).max(2000)
const addresses = boundedList(address).nullish()

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
  /** Refused rather than ignored, since ignoring it would run everything. */
  'invoke-action-addrs': z.array(z.unknown()).max(0, 'invoking actions is not supported by this server').nullish(),
  /** Each value is an HCL expression, `"\"text\""` for a string. */
  variables: boundedList(z.object({ key: z.string().min(1).max(255), value: variableValue })).nullish(),
  /** For a plan-only run: a different engine version from the workspace's. */
  'terraform-version': z.string().min(1).max(100).nullish(),
  'engine-version': z.string().min(1).max(100).nullish(),
})

const relationships = z.object({
  workspace: toOne('workspaces'),
  'configuration-version': toOne('configuration-versions').optional(),
})

export const createRunBody = requestBody('runs', attributes, relationships)
export type CreateRun = z.infer<typeof attributes>
export const runActionBody = commentBody

const runActions = z.strictObject({
  'is-cancelable': z.boolean(),
  'is-confirmable': z.boolean().describe('false for a saved plan whose state has changed since'),
  'is-discardable': z.boolean(),
  'is-force-cancelable': z.boolean().describe('true once a cancel has had no effect for some time'),
})

const runPermissions = z.strictObject({
  'can-apply': z.boolean(),
  'can-cancel': z.boolean(),
  'can-comment': z.boolean(),
  'can-discard': z.boolean(),
  'can-force-execute': z.boolean(),
  'can-force-cancel': z.boolean(),
  'can-override-policy-check': z.boolean(),
})

const runAttributes = {
  actions: runActions.describe('actions that the current status permits'),
  'allow-config-generation': z.boolean().describe('whether the plan may generate configuration for imported resources'),
  'allow-empty-apply': z.boolean().describe('whether a plan without changes can be applied'),
  'auto-apply': z.boolean(),
  'canceled-at': timestamp.nullable(),
  'created-at': timestamp,
  'debugging-mode': z.boolean().describe('whether the engine logs in full detail'),
  'error-message': z.string().nullable().describe('why the run failed, where the log does not show it'),
  'force-cancel-available-at': timestamp.nullable(),
  'has-changes': z.boolean(),
  'is-destroy': z.boolean(),
  message: z.string(),
  permissions: runPermissions.describe("the caller's permissions on the run"),
  'plan-only': z.boolean(),
  'policy-paths': z.array(z.string()).describe('always empty: policies come from policy sets'),
  'invoke-action-addrs': z.array(z.string()).describe('always empty: invoking actions is not supported'),
  refresh: z.boolean().describe('whether the state is refreshed before planning'),
  'refresh-only': z.boolean(),
  'replace-addrs': z.array(z.string()),
  'save-plan': z.boolean().describe('whether the plan is saved for later; it blocks no other run'),
  source: z
    .enum(RUN_SOURCES)
    .describe('what created the run, as in the public API: `terraform+cloud` is a `cloud` block'),
  status: z.enum(RUN_STATUS),
  'status-timestamps': statusTimestamps,
  'target-addrs': z.array(z.string()),
  'trigger-reason': z.string().describe('`manual`, or `run_trigger` for a triggered run'),
  'triggering-source-name': z.string().nullable().describe('name of the workspace in `triggering-source`'),
  'terraform-version': z.string().describe('the same as `engine-version`'),
  'engine-version': z.string().describe('engine version of the run'),
  'updated-at': timestamp,
  variables: z
    .array(z.strictObject({ key: z.string(), value: z.string().describe('an HCL expression') }))
    .describe('variables set on this run; empty for callers who may not read variables'),
  'waiting-reason': z.string().nullable().describe('our own: why the run is waiting, as text for users'),
}

const runMembers = {
  attributes: runAttributes,
  relationships: {
    workspace: hasOne('workspaces'),
    plan: hasOne('plans'),
    apply: hasOne('applies'),
    'configuration-version': hasOne('configuration-versions'),
    'created-by': hasOne('users'),
    'confirmed-by': hasOne('users'),
    'canceled-by': hasOne('users'),
    'triggering-run': hasOne('runs').describe('the first run that triggered this one'),
    'triggering-source': hasOne('workspaces').describe('the workspace of `triggering-run`'),
    'triggering-runs': hasMany('runs').describe('our own: all runs that triggered this one'),
    'cost-estimate': hasOne('cost-estimates').describe('always none: costs are not estimated'),
    'tf-policy-evaluations': hasMany('tf-policy-evaluations').describe('always empty: policies come from policy sets'),
    'policy-checks': hasMany('policy-checks').describe('always empty: policies come from policy sets'),
    'task-stages': hasMany('task-stages'),
    'run-events': linksToMany('run-events').describe(
      'the last 100 of a single run, oldest first; lists have only the link',
    ),
    comments: hasMany('comments').describe('the last 100, oldest first'),
  },
  links: { self: z.string() },
}

export const runSchema = resource('runs', runMembers)
export type RunResource = Written<typeof runSchema>

export const queuedRunSchema = resource('runs', {
  name: 'QueuedRun',
  ...runMembers,
  attributes: {
    ...runAttributes,
    'position-in-queue': z
      .int()
      .describe(
        "position in the organization's queue, from 1, behind the running ones; 0 for a run that is not waiting",
      ),
  },
})
export type QueuedRunResource = Written<typeof queuedRunSchema>

/** The teams visible to the caller whose members can unblock a run. The id is that of the run. */
export const runDecidersSchema = resource('run-deciders', {
  name: 'RunDeciders',
  relationships: {
    'may-apply': hasMany('teams').describe('whose members may confirm or discard the run'),
    'may-override': hasMany('teams').describe('whose members may override a failed mandatory task'),
    'may-force-unlock': hasMany('teams').describe('whose members may force-unlock the workspace'),
  },
})
export type RunDecidersResource = Written<typeof runDecidersSchema>
