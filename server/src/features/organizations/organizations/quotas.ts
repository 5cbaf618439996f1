import type { OrganizationRow } from './store.ts'

export type OrganizationPlan = OrganizationRow['plan']

/** Quotas of a plan; null means no limit. */
export type PlanLimits = {
  runTasks: number | null
  runTaskWorkspaces: number | null
  /** Whether a run task can become global. */
  globalRunTasks: boolean
  /** Self-hosted agents online at the same time. */
  agents: number | null
  /** The newest `kept` states of the organization are kept regardless of age, the others for `months`. */
  states: { kept: number; months: number } | null
}

const UNLIMITED = { runTasks: null, runTaskWorkspaces: null, globalRunTasks: true, agents: null, states: null }

/** The limits of the plans (INTERFACE §6). */
export const PLAN_LIMITS = {
  free: { runTasks: 1, runTaskWorkspaces: 10, globalRunTasks: false, agents: 1, states: { kept: 100, months: 6 } },
  standard: UNLIMITED,
  unlimited: UNLIMITED,
} as const satisfies Record<OrganizationPlan, PlanLimits>

/** Entitlements of every plan. Without `operations` the CLI would run everything locally. */
const ALWAYS = {
  operations: true,
  'state-storage': true,
  agents: true,
  'run-tasks': true,
  'private-run-tasks': true,
  teams: true,
  'audit-logging': true,
  sso: true,
  'vcs-integrations': true,
  'private-vcs': true,
  'private-module-registry': true,
  'policy-enforcement': true,
  'private-policy-agents': true,
  'user-limit': null,
  'run-task-mandatory-enforcement-limit': null,
}

const NEVER = {
  'configuration-designer': false,
  'cost-estimation': false,
  'module-tests-generation': false,
  'self-serve-billing': false,
  sentinel: false,
  'waypoint-actions': false,
  'waypoint-templates-and-addons': false,
  infragraph: false,
  'infragraph-with-nrtu': false,
}

export function entitlements(plan: OrganizationPlan) {
  const { runTasks, runTaskWorkspaces, globalRunTasks, agents } = PLAN_LIMITS[plan]
  return {
    ...ALWAYS,
    ...NEVER,
    'global-run-tasks': globalRunTasks,
    'run-task-limit': runTasks,
    'run-task-workspace-limit': runTaskWorkspaces,
    'agent-limit': agents,
  }
}
