import { z } from 'zod'
import { relationshipsOf, toTyped } from './json-api.ts'
import { type Written, hasOne, linkedResource, nullable, timestamp } from './responses.ts'
import { RUN_STATUS } from './run-status.ts'

/** The type is optional: the example in the public documentation omits it. */
export const createRunTriggerBody = z.object({
  data: z.object({
    type: z.literal('run-triggers').optional(),
    relationships: relationshipsOf(z.object({ sourceable: toTyped('workspaces') })),
  }),
})

export const runTriggerSchema = linkedResource('run-triggers', {
  attributes: {
    'workspace-name': z.string().describe('name of the destination workspace'),
    'sourceable-name': z.string().describe('name of the source workspace'),
    'created-at': timestamp,
    'last-fired-at': nullable.time.describe('our own: when the last run of the source was applied since'),
  },
  relationships: { workspace: hasOne('workspaces'), sourceable: hasOne('workspaces') },
})
export type RunTriggerResource = Written<typeof runTriggerSchema>

/** A run trigger in the list of its organization, which is our own. */
export const listedRunTriggerSchema = linkedResource('run-triggers', {
  name: 'ListedRunTrigger',
  attributes: {
    ...runTriggerSchema.shape.attributes.shape,
    permissions: z.strictObject({ 'can-destroy': z.boolean() }),
  },
  relationships: runTriggerSchema.shape.relationships.shape,
})
export type ListedRunTriggerResource = Written<typeof listedRunTriggerSchema>

export const TRIGGER_TYPES = ['inbound', 'outbound'] as const
export const FIRING_STATUS = ['waiting', 'fired', 'skipped'] as const

const UNREADABLE = 'null for a run that the caller may not read'

const chainRun = z.strictObject({
  id: z.string(),
  depth: z.int().describe('number of links from the first run of the chain'),
  'is-readable': z
    .boolean()
    .describe('false for a run that the caller may not read: only its position in the chain is shown'),
  'workspace-id': nullable.string.describe(UNREADABLE),
  'workspace-name': nullable.string.describe(UNREADABLE),
  status: z.enum(RUN_STATUS).nullable().describe(UNREADABLE),
  message: nullable.string.describe(UNREADABLE),
  'created-at': nullable.time.describe(UNREADABLE),
  'updated-at': nullable.time.describe(UNREADABLE),
})

const firing = z.strictObject({
  'source-run-id': z.string(),
  'run-id': nullable.string.describe('the triggered run; null before it starts and after it is deleted'),
  'workspace-id': nullable.string.describe('the destination workspace; null for callers who may not read it'),
  'workspace-name': nullable.string.describe('also null for a deleted workspace'),
  status: z.enum(FIRING_STATUS),
  reason: nullable.string.describe('why it was skipped; also null for callers who may not read the workspace'),
  'created-at': timestamp.describe('when the source run was applied'),
  'fires-at': timestamp.describe('when the run starts; applies until then are combined'),
  'decided-at': nullable.time.describe('when the run started or the firing was skipped'),
})

/** The runs that led to a run, and the runs that followed from it. Not part of the public API. */
export const triggerChainSchema = linkedResource('trigger-chains', {
  attributes: {
    runs: z.array(chainRun).describe('the run, all its ancestors and all its descendants, oldest first'),
    firings: z.array(firing).describe('the links between these runs, including waiting and skipped ones'),
    truncated: z.boolean().describe('whether runs were left out because the chain is too large'),
  },
  relationships: { run: hasOne('runs') },
})
export type TriggerChainResource = Written<typeof triggerChainSchema>

const graphWorkspace = z.strictObject({
  id: z.string(),
  name: z.string(),
  'project-id': z.string(),
  'project-name': z.string(),
  'auto-apply-run-trigger': z.boolean(),
  'trigger-only-on-output-change': z.boolean(),
  locked: z.boolean(),
  'latest-change-at': timestamp,
  'current-run': z.strictObject({ id: z.string(), status: z.enum(RUN_STATUS) }).nullable(),
  cycle: nullable.int.describe('number of the cycle that it belongs to; null for none'),
})

const graphTrigger = z.strictObject({
  id: z.string(),
  'workspace-id': z.string(),
  'sourceable-id': z.string(),
  'last-fired-at': nullable.time,
  cycle: nullable.int.describe('number of the cycle that it belongs to; null for none'),
})

/** The run triggers of an organization as one graph. Not part of the public API. */
export const dependencyGraphSchema = linkedResource('dependency-graphs', {
  attributes: {
    workspaces: z.array(graphWorkspace).describe('workspaces with run triggers that the caller may read'),
    triggers: z.array(graphTrigger).describe('the run triggers between these workspaces'),
    truncated: z.boolean().describe('whether run triggers were left out because there are too many'),
  },
  relationships: { organization: hasOne('organizations') },
})
export type DependencyGraphResource = Written<typeof dependencyGraphSchema>
