import { z } from 'zod'
import { requestBody, toMany } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, nullable, pageOf, timestamp } from './responses.ts'

export const MEMBERSHIP_STATUSES = ['active', 'invited', 'inactive'] as const

export const createMembershipBody = requestBody(
  'organization-memberships',
  z.object({ email: z.email().max(254) }),
  z.object({ teams: toMany('teams').optional() }),
)
export type CreateMembership = z.infer<typeof createMembershipBody>['data']

export const membershipSchema = linkedResource('organization-memberships', {
  attributes: {
    status: z.enum(MEMBERSHIP_STATUSES).describe('never inactive on this server'),
    email: nullable.string.describe('null when the caller may not see the members of the organization'),
    'created-at': timestamp,
    'is-org-two-factor-required': z.boolean(),
    'has-two-factor': z
      .boolean()
      .nullable()
      .describe('our own: null for invited users and single sign-on, and where `email` is null'),
    'invitation-expires-at': nullable.time.describe(
      'our own: when the links of an invitation expire; null without links',
    ),
  },
  relationships: {
    organization: hasOne('organizations'),
    user: hasOne('users').describe('for an invited user, an id that belongs to no account'),
    teams: hasMany('teams').describe('only the teams that the caller may see'),
  },
})
export type MembershipResource = Written<typeof membershipSchema>

const page = pageOf(membershipSchema)
/** A page of an organization's memberships, with the number of matches for each status. */
export const membershipPage = page.extend({
  meta: page.shape.meta.extend({
    'status-counts': z.strictObject({ total: z.int(), active: z.int(), invited: z.int() }),
  }),
})
