import { z } from 'zod'
import { type Written, resource } from './responses.ts'

/** How many runs of an organization are at work and how many wait. The id is the organization's name. */
export const organizationCapacitySchema = resource(
  'organization-capacity',
  {
    attributes: {
      pending: z.int().describe('runs that wait'),
      running: z.int().describe('runs that an agent plans or applies'),
      'run-concurrency': z
        .int()
        .nullable()
        .describe('our own: how many runs agents work on at once; null for no limit'),
    },
  },
  'OrganizationCapacity',
)
export type OrganizationCapacityResource = Written<typeof organizationCapacitySchema>
