import { z } from 'zod'
import { type Written, resource } from './responses.ts'

const always = z.boolean().describe('always true')
const unlimited = z.null().describe('there is no limit')
const limit = (what: string) => z.int().nullable().describe(`${what}; null is no limit`)
const never = z.boolean().describe('always false: not supported by this server')

export const entitlementSetSchema = resource(
  'entitlement-sets',
  {
    attributes: {
      operations: always,
      'state-storage': always,
      agents: always,
      'run-tasks': always,
      'private-run-tasks': always,
      'global-run-tasks': always,
      teams: always,
      'audit-logging': always,
      sso: always,
      'user-limit': unlimited,
      'run-task-mandatory-enforcement-limit': unlimited,
      'run-task-limit': limit('run tasks that the plan allows'),
      'run-task-workspace-limit': limit('workspaces in which the plan allows run tasks'),
      'agent-limit': limit('self-hosted agents that the plan allows online at once'),
      'configuration-designer': never,
      'cost-estimation': never,
      'module-tests-generation': never,
      'policy-enforcement': never,
      'private-module-registry': never,
      'private-policy-agents': never,
      'private-vcs': never,
      'self-serve-billing': never,
      sentinel: never,
      'vcs-integrations': never,
      'waypoint-actions': never,
      'waypoint-templates-and-addons': never,
      infragraph: never,
      'infragraph-with-nrtu': never,
    },
    links: { self: z.string() },
  },
  'EntitlementSet',
)
export type EntitlementSetResource = Written<typeof entitlementSetSchema>
