import { z } from 'zod'
import { type Written, linkedResource, nullable, resource } from './responses.ts'

const count = z.int()
const used = (what: string) =>
  z
    .strictObject({ used: count, limit: count.nullable() })
    .nullable()
    .describe(`${what}; the limit is null for no limit, the whole object for callers who may not read them`)

/** Items of an organization that need attention, limited to what the caller may see. The id is the organization's name. */
export const organizationOverviewSchema = linkedResource('organization-overviews', {
  attributes: {
    workspaces: z
      .strictObject({
        total: count,
        'needs-approval': count,
        errored: count,
        running: count,
        waiting: count,
        finished: count,
        stopped: count,
        'without-runs': count,
        locked: count,
        drifted: count,
      })
      .describe('the workspaces that the caller may see, by `run-group`; `without-runs` have no current run'),
    agents: z
      .strictObject({
        online: count,
        idle: count,
        busy: count,
        'is-built-in-online': z.boolean().describe('whether the built-in agent is online'),
      })
      .nullable()
      .describe("agents of the organization's own pools; null where the caller may not read pools"),
    jobs: z
      .strictObject({ waiting: count, running: count })
      .describe('plans and applies of the whole organization that wait for an agent or are running'),
    usage: z
      .strictObject({
        'run-tasks': used('run tasks'),
        'run-task-workspaces': used('workspaces with run tasks'),
        agents: used('self-hosted agents online'),
        'concurrent-runs': used('running runs'),
      })
      .describe("quotas of the organization's plan"),
    'has-token': z.boolean().describe('whether an API token of the caller has been used'),
    'has-workspace': z.boolean().describe("whether the caller may see a workspace other than the sample's"),
    'has-run': z.boolean().describe('whether one of these workspaces has had a run'),
    'has-run-task': z
      .boolean()
      .describe("whether there is a run task other than the sample's, for callers who may read run tasks"),
    'has-sample': z.boolean().describe('whether the organization has a sample'),
  },
})
export type OrganizationOverviewResource = Written<typeof organizationOverviewSchema>

/** Numbers of running and waiting runs of an organization, or of agent pools in it. The id is the organization's name. */
export const organizationCapacitySchema = resource('organization-capacity', {
  attributes: {
    pending: z.int().describe('waiting runs'),
    queued: z.int().describe('our own: those of them that need nothing but an agent'),
    running: z.int().describe('runs that an agent is planning or applying'),
    'run-concurrency': nullable.int.describe('our own: maximum number of concurrent runs; null for no limit'),
  },
})
export type OrganizationCapacityResource = Written<typeof organizationCapacitySchema>
