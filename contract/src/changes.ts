import { z } from 'zod'

/** Resource types whose changes are announced in an organization's event stream, named as in the API. */
export const CHANGE_TYPES = [
  /** Settings, lock, tags, current run and state; creation and deletion. */
  'workspaces',
  /** Status, plan and apply, task stages, events, comments, and the runs that its apply triggered. */
  'runs',
  /** Result, message, outcomes and deliveries. */
  'task-results',
  /** A log has grown. The id is that of the plan or apply. */
  'logs',
  'state-versions',
  'vars',
  /** A variable set, its variables and its scope. */
  'varsets',
  'run-triggers',
  'workspace-tasks',
  'tasks',
  'policies',
  /** A policy set, its versions, parameters and scope. */
  'policy-sets',
  /** Progress and results of the evaluation of a set against past runs. */
  'policy-trials',
  /** Registration, exit and load. An agent that stops responding is not announced. */
  'agents',
  'agent-pools',
  /** A connection to a host of repositories, and its token. */
  'oauth-clients',
  'github-app-installations',
  'ssh-keys',
  /** A module of the registry, its settings and versions. */
  'registry-modules',
  /** A provider of the registry, its versions and platforms. */
  'registry-providers',
  'gpg-keys',
  /** Settings, verification and deliveries of a notification configuration. */
  'notification-configurations',
  /** A host's report about a repository, and the decisions. */
  'vcs-deliveries',
  'projects',
  'organizations',
  'teams',
  'organization-memberships',
] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** Data of the `change` event: this resource changed, so clients that show it should refetch it. */
export const changeSchema = z.strictObject({
  type: z.enum(CHANGE_TYPES),
  id: z.string(),
  workspace: z.string().optional().describe('the id of the workspace that it belongs to'),
  run: z.string().optional().describe('the id of the run that a task result or a log belongs to'),
  pool: z.string().optional().describe('the id of the pool that an agent belongs to'),
})
export type Change = z.infer<typeof changeSchema>

/** Data of the `end` event, the last one of a stream. */
export const endSchema = z.strictObject({
  reason: z
    .enum(['signed-out'])
    .describe('the session or token has expired, or access to the organization was revoked'),
})
export type End = z.infer<typeof endSchema>
