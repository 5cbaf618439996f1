import { z } from 'zod'
import { relationshipsOf, toTyped } from './json-api.ts'
import { type Written, hasOne, resource, timestamp } from './responses.ts'
import { RUN_STATUS } from './run-status.ts'

/** Clients send the type, the public documentation's own example leaves it out. */
export const createRunTriggerBody = z.object({
  data: z.object({
    type: z.literal('run-triggers').optional(),
    relationships: relationshipsOf(z.object({ sourceable: toTyped('workspaces') })),
  }),
})

export const runTriggerSchema = resource(
  'run-triggers',
  {
    attributes: {
      'workspace-name': z.string().describe('name of the workspace whose runs are started'),
      'sourceable-name': z.string().describe('name of the workspace whose applies start them'),
      'created-at': timestamp,
    },
    relationships: { workspace: hasOne('workspaces'), sourceable: hasOne('workspaces') },
    links: { self: z.string() },
  },
  'RunTrigger',
)
export type RunTriggerResource = Written<typeof runTriggerSchema>

export const TRIGGER_TYPES = ['inbound', 'outbound'] as const
export const FIRING_STATUS = ['waiting', 'fired', 'skipped'] as const

const UNREADABLE = 'null for a run that you may not read'

const chainRun = z.strictObject({
  id: z.string(),
  depth: z.int().describe('how many links lead to the run from the one that began the chain'),
  'is-readable': z.boolean().describe('false for a run that you may not read: only its place in the chain is shown'),
  'workspace-id': z.string().nullable().describe(UNREADABLE),
  'workspace-name': z.string().nullable().describe(UNREADABLE),
  status: z.enum(RUN_STATUS).nullable().describe(UNREADABLE),
  message: z.string().nullable().describe(UNREADABLE),
  'created-at': timestamp.nullable().describe(UNREADABLE),
  'updated-at': timestamp.nullable().describe(UNREADABLE),
})

const firing = z.strictObject({
  'source-run-id': z.string(),
  'run-id': z
    .string()
    .nullable()
    .describe('the run that it has started; null unless it has, and once that run is gone'),
  'workspace-id': z
    .string()
    .nullable()
    .describe('where the run is started; null for a workspace that you may not read'),
  'workspace-name': z.string().nullable().describe('also null for a workspace that was deleted'),
  status: z.enum(FIRING_STATUS),
  reason: z.string().nullable().describe('why it was skipped; also null for a workspace that you may not read'),
  'created-at': timestamp.describe('when the source was applied'),
  'fires-at': timestamp.describe('when the run is started: what is applied until then is joined'),
  'decided-at': timestamp.nullable().describe('when the run was started, or the firing skipped'),
})

/** The causes and consequences of one run. Not part of the public API. */
export const triggerChainSchema = resource(
  'trigger-chains',
  {
    attributes: {
      runs: z.array(chainRun).describe('the run itself, all its causes and all its consequences, the oldest first'),
      firings: z.array(firing).describe('the links between these runs, and those that wait or were skipped'),
      truncated: z.boolean().describe('whether the chain is larger than what is shown'),
    },
    relationships: { run: hasOne('runs') },
    links: { self: z.string() },
  },
  'TriggerChain',
)
export type TriggerChainResource = Written<typeof triggerChainSchema>

const graphWorkspace = z.strictObject({
  id: z.string(),
  name: z.string(),
  'auto-apply-run-trigger': z.boolean(),
  'trigger-only-on-output-change': z.boolean(),
  locked: z.boolean(),
  'latest-change-at': timestamp,
  'current-run': z.strictObject({ id: z.string(), status: z.enum(RUN_STATUS) }).nullable(),
  cycle: z.int().nullable().describe('number of the cycle that it is in; null for none'),
})

const graphTrigger = z.strictObject({
  id: z.string(),
  'workspace-id': z.string(),
  'sourceable-id': z.string(),
  cycle: z.int().nullable().describe('number of the cycle that it is in; null for none'),
})

/** The run triggers of an organization as one graph. Not part of the public API. */
export const dependencyGraphSchema = resource(
  'dependency-graphs',
  {
    attributes: {
      workspaces: z.array(graphWorkspace).describe('those of the workspaces with run triggers that you may read'),
      triggers: z.array(graphTrigger).describe('the run triggers between these workspaces'),
      truncated: z.boolean().describe('whether there are more run triggers than are shown'),
    },
    relationships: { organization: hasOne('organizations') },
    links: { self: z.string() },
  },
  'DependencyGraph',
)
export type DependencyGraphResource = Written<typeof dependencyGraphSchema>
