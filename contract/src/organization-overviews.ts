import { z } from 'zod'
import { type Written, resource } from './responses.ts'

const count = z.int()
const used = (what: string) =>
  z
    .strictObject({ used: count, limit: count.nullable() })
    .nullable()
    .describe(`${what}; the limit is null where there is none, and the whole where the caller may not read them`)

/** What needs attention in an organization, as far as the caller sees it. The id is the organization's name. */
export const organizationOverviewSchema = resource(
  'organization-overviews',
  {
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
        .describe(
          'the workspaces that the caller sees, by the `run-group` of each; `without-runs` have no current run',
        ),
      agents: z
        .strictObject({
          online: count,
          idle: count,
          busy: count,
          'is-built-in-online': z.boolean().describe('whether an agent of the server itself is online'),
        })
        .nullable()
        .describe("agents of the organization's own pools; null where the caller may not read pools"),
      jobs: z
        .strictObject({ waiting: count, running: count })
        .describe('plans and applies of the whole organization that wait for an agent, and that agents work on'),
      usage: z
        .strictObject({
          'run-tasks': used('run tasks'),
          'run-task-workspaces': used('workspaces whose runs ask a task'),
          agents: used('self-hosted agents that are online'),
          'concurrent-runs': used('runs that agents work on'),
        })
        .describe('what the plan of the organization limits'),
      'has-token': z.boolean().describe('whether an API token of the caller has been used'),
      'has-workspace': z.boolean().describe("whether the caller sees a workspace beside the sample's"),
      'has-run': z.boolean().describe('whether one of these has had a run'),
      'has-run-task': z.boolean().describe("whether there is a run task beside the sample's, for who may read them"),
      'has-sample': z.boolean().describe('whether the organization has a sample'),
    },
    links: { self: z.string() },
  },
  'OrganizationOverview',
)
export type OrganizationOverviewResource = Written<typeof organizationOverviewSchema>
