import { z } from 'zod'
import { requestBody, toMany } from './json-api.ts'

export const MEMBERSHIP_STATUSES = ['active', 'invited', 'inactive'] as const

export const createMembershipBody = requestBody(
  'organization-memberships',
  z.object({ email: z.email().max(254) }),
  z.object({ teams: toMany('teams').optional() }),
)
export type CreateMembership = z.infer<typeof createMembershipBody>['data']
