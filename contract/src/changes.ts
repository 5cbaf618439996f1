import { z } from 'zod'

/** The types of resources whose changes the stream of an organization tells. A type is that of the resource in the API. */
export const CHANGE_TYPES = [
  /** Its settings, lock, tags, current run and state; that it came or went. */
  'workspaces',
  /** Its status, plan and apply, stages of tasks, events, comments, and what its apply has started elsewhere. */
  'runs',
  /** Its verdict, message, outcomes and deliveries. */
  'task-results',
  /** There is more of a log. The id is that of the plan or apply. */
  'logs',
  'state-versions',
  /** A variable of a workspace. */
  'vars',
  /** A variable set, its variables, and what it applies to. */
  'varsets',
  'run-triggers',
  'workspace-tasks',
  'tasks',
  /** That it came, left or is busy. One that falls silent says nothing. */
  'agents',
  'agent-pools',
  'projects',
  'organizations',
  'teams',
  'organization-memberships',
] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** Data of the event `change`: something about this resource changed, and whoever shows it asks for it anew. */
export const changeSchema = z.strictObject({
  type: z.enum(CHANGE_TYPES),
  id: z.string(),
  workspace: z.string().optional().describe('the id of the workspace that it belongs to'),
  run: z.string().optional().describe('the id of the run that a task result or a log belongs to'),
  pool: z.string().optional().describe('the id of the pool that an agent belongs to'),
})
export type Change = z.infer<typeof changeSchema>

/** Data of the event `end`, the last one of a stream. */
export const endSchema = z.strictObject({
  reason: z
    .enum(['signed-out'])
    .describe('the session or token has ended, or access to the organization was taken away'),
})
export type End = z.infer<typeof endSchema>
