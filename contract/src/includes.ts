import type { z } from 'zod'
import { agentPoolSchema } from './agent-pools.ts'
import { configurationVersionSchema, ingressAttributesSchema } from './configuration-versions.ts'
import { entitlementSetSchema } from './entitlement-sets.ts'
import { membershipSchema } from './memberships.ts'
import { oauthClientSchema, oauthTokenSchema } from './oauth-clients.ts'
import { organizationSchema } from './organizations.ts'
import { applySchema, planSchema } from './plans.ts'
import { policyEvaluationSchema, policySchema } from './policies.ts'
import { policySetSchema, policySetVersionSchema } from './policy-sets.ts'
import { projectSchema } from './projects.ts'
import { registryProviderVersionSchema } from './registry-providers.ts'
import { commentSchema, runEventSchema } from './run-events.ts'
import { taskHealthSchema, taskSchema, workspaceTaskSchema } from './run-tasks.ts'
import { runSchema } from './runs.ts'
import { stateVersionOutputSchema, workspaceOutputSchema } from './state-version-outputs.ts'
import { stateVersionSchema } from './state-versions.ts'
import { effectiveTagBindingSchema } from './tags.ts'
import { taskDeliverySchema, taskResultOutcomeSchema, taskResultSchema } from './task-results.ts'
import { taskStageSchema } from './task-stages.ts'
import { teamSchema } from './teams.ts'
import { invitedUserSchema, memberUserSchema, userSchema } from './users.ts'
import { variableSchema } from './variables.ts'
import { vcsDeliverySchema } from './vcs-deliveries.ts'
import { workspaceSchema } from './workspaces.ts'

/** The resources that each path of `include` adds, as well as those along it; null for a path that clients request but that adds nothing here. */
export type IncludeTable = Record<string, z.ZodType | readonly z.ZodType[] | null>

function configurationVersion(path: string): IncludeTable {
  return { [path]: configurationVersionSchema, [`${path}.ingress_attributes`]: ingressAttributesSchema }
}

function runOfWorkspace(path: string): IncludeTable {
  return {
    [path]: runSchema,
    [`${path}.plan`]: planSchema,
    [`${path}.apply`]: applySchema,
    [`${path}.created_by`]: userSchema,
    ...configurationVersion(`${path}.configuration_version`),
  }
}

export const runIncludes = {
  plan: planSchema,
  apply: applySchema,
  created_by: userSchema,
  confirmed_by: userSchema,
  canceled_by: userSchema,
  cost_estimate: null,
  configuration_version: configurationVersionSchema,
  'configuration_version.ingress_attributes': ingressAttributesSchema,
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
  'task_stages.policy_evaluations': policyEvaluationSchema,
  'task_stages.policy_evaluations.overridden_by': userSchema,
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

export const runDecidersIncludes: IncludeTable = {
  may_apply: teamSchema,
  'may_apply.users': userSchema,
  may_override: teamSchema,
  'may_override.users': userSchema,
  may_force_unlock: teamSchema,
  'may_force_unlock.users': userSchema,
}

export const runTriggerIncludes: IncludeTable = { workspace: workspaceSchema, sourceable: workspaceSchema }

export const runEventIncludes: IncludeTable = { actor: userSchema, comment: commentSchema }

export const configurationVersionIncludes: IncludeTable = {
  ingress_attributes: ingressAttributesSchema,
  run: runSchema,
}

export const taskStageIncludes: IncludeTable = {
  task_results: taskResultSchema,
  run: runSchema,
  'run.workspace': workspaceSchema,
  policy_evaluations: policyEvaluationSchema,
  cost_estimate: null,
}

export const taskIncludes: IncludeTable = {
  workspace_tasks: workspaceTaskSchema,
  'workspace_tasks.workspace': workspaceSchema,
  agent_pool: agentPoolSchema,
  health: taskHealthSchema,
}

export const workspaceTaskIncludes: IncludeTable = { task: taskSchema, workspace: workspaceSchema }

export const workspaceIncludes: IncludeTable = {
  organization: organizationSchema,
  project: projectSchema,
  ...runOfWorkspace('current_run'),
  ...runOfWorkspace('latest_run'),
  ...configurationVersion('current_configuration_version'),
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
}

export const stateVersionIncludes: IncludeTable = {
  created_by: userSchema,
  run: runSchema,
  'run.created_by': userSchema,
  'run.configuration_version': configurationVersionSchema,
  outputs: stateVersionOutputSchema,
}

export const variableSetIncludes: IncludeTable = {
  workspaces: workspaceSchema,
  projects: projectSchema,
  stacks: null,
  vars: variableSchema,
}

export const setWorkspaceIncludes: IncludeTable = { project: projectSchema }

export const oauthClientIncludes: IncludeTable = {
  oauth_tokens: oauthTokenSchema,
  projects: projectSchema,
}

export const vcsEventIncludes: IncludeTable = { oauth_client: oauthClientSchema }

export const vcsDecisionIncludes = {
  delivery: vcsDeliverySchema,
  workspace: workspaceSchema,
  run: runSchema,
} as const satisfies IncludeTable

export const notificationConfigurationIncludes: IncludeTable = {
  users: userSchema,
  subscribable: [workspaceSchema, projectSchema, teamSchema],
}

export const agentPoolIncludes: IncludeTable = {
  workspaces: workspaceSchema,
  allowed_workspaces: workspaceSchema,
  excluded_workspaces: workspaceSchema,
  allowed_projects: projectSchema,
  hyok_configurations: null,
}

export const organizationIncludes: IncludeTable = {
  entitlement_set: entitlementSetSchema,
  'default-project': projectSchema,
  subscription: null,
}

export const tokenIncludes: IncludeTable = { created_by: userSchema, team: teamSchema }

export const projectIncludes: IncludeTable = { effective_tag_bindings: effectiveTagBindingSchema }

export const teamIncludes: IncludeTable = { users: userSchema, 'organization-memberships': membershipSchema }

export const teamWorkspaceIncludes: IncludeTable = { team: teamSchema, workspace: workspaceSchema }

export const teamProjectIncludes: IncludeTable = { team: teamSchema, project: projectSchema }

export const membershipIncludes: IncludeTable = {
  /** An invited user has no account yet. The response to an invitation always includes the user. */
  user: [memberUserSchema, invitedUserSchema],
  teams: teamSchema,
}

export const ownMembershipIncludes: IncludeTable = { ...membershipIncludes, organization: organizationSchema }

export const registryProviderIncludes: IncludeTable = { registry_provider_versions: registryProviderVersionSchema }

export const policyIncludes: IncludeTable = { policy_sets: policySetSchema }

export const policySetVersionIncludes: IncludeTable = { created_by: userSchema }

export const policySetIncludes: IncludeTable = {
  organization: organizationSchema,
  policies: policySchema,
  workspaces: workspaceSchema,
  workspace_exclusions: workspaceSchema,
  projects: projectSchema,
  project_exclusions: projectSchema,
  current_version: policySetVersionSchema,
  newest_version: policySetVersionSchema,
}
