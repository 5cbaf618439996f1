import type { OrganizationRow } from './store.ts'

export type OrganizationPlan = OrganizationRow['plan']

/** What an organization may have; null means that there is no limit. */
export type PlanLimits = {
  runTasks: number | null
  /** Workspaces whose runs ask a task. */
  runTaskWorkspaces: number | null
  /** Self-hosted agents that are online at once. */
  agents: number | null
  /** The newest `kept` states of the organization stay whatever their age, the others for `months`. */
  states: { kept: number; months: number } | null
}

const UNLIMITED = { runTasks: null, runTaskWorkspaces: null, agents: null, states: null }

/** The limits of the plans (INTERFACE §6). `standard` and `unlimited` have the same: none. */
export const PLAN_LIMITS = {
  free: { runTasks: 1, runTaskWorkspaces: 10, agents: 1, states: { kept: 100, months: 6 } },
  standard: UNLIMITED,
  unlimited: UNLIMITED,
} as const satisfies Record<OrganizationPlan, PlanLimits>
