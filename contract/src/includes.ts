import type { z } from 'zod'
import { agentPoolSchema } from './agent-pools.ts'
import { configurationVersionSchema } from './configuration-versions.ts'
import { entitlementSetSchema } from './entitlement-sets.ts'
import { membershipSchema } from './memberships.ts'
import { organizationSchema } from './organizations.ts'
import { applySchema, planSchema } from './plans.ts'
import { projectSchema } from './projects.ts'
import { commentSchema, runEventSchema } from './run-events.ts'
import { workspaceTaskSchema } from './run-tasks.ts'
import { runSchema } from './runs.ts'
import { stateVersionOutputSchema, workspaceOutputSchema } from './state-version-outputs.ts'
import { stateVersionSchema } from './state-versions.ts'
import { effectiveTagBindingSchema } from './tags.ts'
import { taskDeliverySchema, taskResultOutcomeSchema, taskResultSchema } from './task-results.ts'
import { taskStageSchema } from './task-stages.ts'
import { teamSchema } from './teams.ts'
import { invitedUserSchema, userSchema } from './users.ts'
import { variableSchema } from './variables.ts'
import { workspaceSchema } from './workspaces.ts'

/**
 * Paths that `include` accepts, with the resources that each adds; null for a path that clients request but that adds nothing
 * here. Resources along a path are added too: `current_run.plan` adds the run and its plan.
 */
export type IncludeTable = Record<string, z.ZodType | readonly z.ZodType[] | null>

/** Version control is not supported, so there are no ingress attributes. */
const INGRESS_ATTRIBUTES = null

export const runIncludes = {
  plan: planSchema,
  apply: applySchema,
  created_by: userSchema,
  confirmed_by: userSchema,
  canceled_by: userSchema,
  cost_estimate: null,
  configuration_version: configurationVersionSchema,
  'configuration_version.ingress_attributes': INGRESS_ATTRIBUTES,
  workspace: workspaceSchema,
  task_stages: taskStageSchema,
  tf_policy_evaluations: null,
} as const satisfies IncludeTable

/** Includes of a single run, in addition to those of lists; our own. */
export const shownRunIncludes = {
  ...runIncludes,
  'task_stages.task_results': taskResultSchema,
  'task_stages.task_results.task_result_outcomes': taskResultOutcomeSchema,
  'task_stages.task_results.deliveries': taskDeliverySchema,
  run_events: runEventSchema,
  'run_events.actor': userSchema,
  'run_events.comment': commentSchema,
  comments: commentSchema,
  'comments.created_by': userSchema,
  triggering_runs: runSchema,
  'triggering_runs.workspace': workspaceSchema,
  'workspace.project': projectSchema,
  'workspace.locked_by': [userSchema, runSchema, teamSchema],
} as const satisfies IncludeTable

export const runDecidersIncludes = {
  may_apply: teamSchema,
  'may_apply.users': userSchema,
  may_override: teamSchema,
  'may_override.users': userSchema,
  may_force_unlock: teamSchema,
  'may_force_unlock.users': userSchema,
} as const satisfies IncludeTable

export const runTriggerIncludes = {
  workspace: workspaceSchema,
  sourceable: workspaceSchema,
} as const satisfies IncludeTable

export const runEventIncludes = { actor: userSchema, comment: commentSchema } as const satisfies IncludeTable

export const configurationVersionIncludes = {
  ingress_attributes: INGRESS_ATTRIBUTES,
  run: runSchema,
} as const satisfies IncludeTable

export const taskStageIncludes = {
  task_results: taskResultSchema,
  run: runSchema,
  'run.workspace': workspaceSchema,
  policy_evaluations: null,
  cost_estimate: null,
} as const satisfies IncludeTable

export const taskIncludes = {
  workspace_tasks: workspaceTaskSchema,
  'workspace_tasks.workspace': workspaceSchema,
  agent_pool: agentPoolSchema,
} as const satisfies IncludeTable

export const workspaceIncludes = {
  organization: organizationSchema,
  project: projectSchema,
  current_run: runSchema,
  'current_run.plan': planSchema,
  'current_run.apply': applySchema,
  'current_run.created_by': userSchema,
  'current_run.configuration_version': configurationVersionSchema,
  'current_run.configuration_version.ingress_attributes': INGRESS_ATTRIBUTES,
  latest_run: runSchema,
  'latest_run.plan': planSchema,
  'latest_run.apply': applySchema,
  'latest_run.created_by': userSchema,
  'latest_run.configuration_version': configurationVersionSchema,
  'latest_run.configuration_version.ingress_attributes': INGRESS_ATTRIBUTES,
  current_configuration_version: configurationVersionSchema,
  'current_configuration_version.ingress_attributes': INGRESS_ATTRIBUTES,
  current_state_version: stateVersionSchema,
  /** An attribute that every state version has anyway. */
  'current_state_version.resources_processed': null,
  agent_pool: agentPoolSchema,
  locked_by: [userSchema, runSchema, teamSchema],
  'locked_by.created_by': userSchema,
  outputs: workspaceOutputSchema,
  vars: variableSchema,
  effective_tag_bindings: effectiveTagBindingSchema,
  /** Available only with version control. */
  readme: null,
  /** Available only with health assessments. */
  current_assessment_result: null,
} as const satisfies IncludeTable

export const stateVersionIncludes = {
  created_by: userSchema,
  run: runSchema,
  'run.created_by': userSchema,
  'run.configuration_version': configurationVersionSchema,
  outputs: stateVersionOutputSchema,
} as const satisfies IncludeTable

export const variableSetIncludes = {
  workspaces: workspaceSchema,
  projects: projectSchema,
  stacks: null,
  vars: variableSchema,
} as const satisfies IncludeTable

export const agentPoolIncludes = {
  workspaces: workspaceSchema,
  hyok_configurations: null,
} as const satisfies IncludeTable

export const organizationIncludes = {
  entitlement_set: entitlementSetSchema,
  'default-project': projectSchema,
  subscription: null,
} as const satisfies IncludeTable

export const projectIncludes = { effective_tag_bindings: effectiveTagBindingSchema } as const satisfies IncludeTable

export const teamIncludes = {
  users: userSchema,
  'organization-memberships': membershipSchema,
} as const satisfies IncludeTable

export const membershipIncludes = {
  /** An invited user has no account yet. The response to an invitation always includes the user. */
  user: [userSchema, invitedUserSchema],
  teams: teamSchema,
} as const satisfies IncludeTable

/** For the caller's own memberships. */
export const ownMembershipIncludes = {
  ...membershipIncludes,
  organization: organizationSchema,
} as const satisfies IncludeTable
