import { type OrganizationPlan, PLAN_LIMITS } from './plan-limits.ts'

/** What every plan has. Without `operations` the command lines would run everything on the caller's machine. */
const ALWAYS = {
  operations: true,
  'state-storage': true,
  agents: true,
  'run-tasks': true,
  'private-run-tasks': true,
  'global-run-tasks': true,
  teams: true,
  'audit-logging': true,
  sso: true,
  'user-limit': null,
  'run-task-mandatory-enforcement-limit': null,
}

/** What this server does not do, whatever the plan. */
const NEVER = {
  'configuration-designer': false,
  'cost-estimation': false,
  'module-tests-generation': false,
  'policy-enforcement': false,
  'private-module-registry': false,
  'private-policy-agents': false,
  'private-vcs': false,
  'self-serve-billing': false,
  sentinel: false,
  'vcs-integrations': false,
  'waypoint-actions': false,
  'waypoint-templates-and-addons': false,
  infragraph: false,
  'infragraph-with-nrtu': false,
}

/** The attributes of an organization's entitlement set. */
export function entitlements(plan: OrganizationPlan) {
  const { runTasks, runTaskWorkspaces, agents } = PLAN_LIMITS[plan]
  return {
    ...ALWAYS,
    ...NEVER,
    'run-task-limit': runTasks,
    'run-task-workspace-limit': runTaskWorkspaces,
    'agent-limit': agents,
  }
}
