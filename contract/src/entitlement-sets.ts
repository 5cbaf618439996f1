import { z } from 'zod'
import { resource, type Written } from './answers.ts'

const always = z.boolean().describe('always true')
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
      'user-limit': z.null().describe('there is no limit'),
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
      'audit-logging': z.boolean().describe('whether the plan has it'),
      sso: z.boolean().describe('whether the plan has it'),
    },
    links: { self: z.string() },
  },
  'EntitlementSet',
)
export type EntitlementSetResource = Written<typeof entitlementSetSchema>
