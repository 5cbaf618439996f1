import { z } from 'zod'
import { type Written, linkedResource, nullable, unsupported } from './responses.ts'

const always = z.boolean().describe('always true')
const unlimited = z.null().describe('there is no limit')
const limit = (what: string) => nullable.int.describe(`${what}; null is no limit`)

export const entitlementSetSchema = linkedResource('entitlement-sets', {
  attributes: {
    operations: always,
    'state-storage': always,
    agents: always,
    'run-tasks': always,
    'private-run-tasks': always,
    'global-run-tasks': z.boolean().describe('whether the plan lets run tasks apply to every workspace'),
    teams: always,
    'audit-logging': always,
    sso: always,
    'vcs-integrations': always,
    'private-vcs': always,
    'private-module-registry': always,
    'policy-enforcement': always,
    'private-policy-agents': always,
    'user-limit': unlimited,
    'run-task-mandatory-enforcement-limit': unlimited,
    'run-task-limit': limit('run tasks that the plan allows'),
    'run-task-workspace-limit': limit('workspaces in which the plan allows run tasks'),
    'agent-limit': limit('self-hosted agents that the plan allows online at once'),
    'configuration-designer': unsupported,
    'cost-estimation': unsupported,
    'module-tests-generation': unsupported,
    'self-serve-billing': unsupported,
    sentinel: unsupported,
    'waypoint-actions': unsupported,
    'waypoint-templates-and-addons': unsupported,
    infragraph: unsupported,
    'infragraph-with-nrtu': unsupported,
  },
})
export type EntitlementSetResource = Written<typeof entitlementSetSchema>
