import { z } from 'zod'
import { resource, type Written } from './answers.ts'

/** How many runs of an organization are at work and how many wait. The id is the organization's name. */
export const organizationCapacitySchema = resource(
  'organization-capacity',
  {
    attributes: {
      pending: z.int().describe('runs that wait'),
      running: z.int().describe('runs that an agent plans or applies'),
    },
  },
  'OrganizationCapacity',
)
export type OrganizationCapacityResource = Written<typeof organizationCapacitySchema>
