import { z } from 'zod'
import { requestBody, toMany } from './json-api.ts'
import { type Written, hasMany, hasOne, linkedResource, linksToMany, linksToOne, nullable } from './responses.ts'

const flag = z.boolean().optional()

export const organizationAccess = z.object({
  'manage-policies': flag,
  'manage-policy-overrides': flag,
  'delegate-policy-overrides': flag,
  'manage-workspaces': flag,
  'manage-vcs-settings': flag,
  'manage-providers': flag,
  'manage-modules': flag,
  'manage-run-tasks': flag,
  'manage-projects': flag,
  'read-workspaces': flag,
  'read-projects': flag,
  'manage-membership': flag,
  'manage-teams': flag,
  'manage-organization-access': flag,
  'access-secret-teams': flag,
  'manage-agent-pools': flag,
})
export type OrganizationAccessInput = z.infer<typeof organizationAccess>

const visibility = z.enum(['secret', 'organization'])

/** No commas, since `filter[names]` separates names by them, and no invisible characters, since users tell teams apart by name. */
const name = z
  .string()
  .trim()
  .min(1, { error: "Name can't be blank", abort: true })
  .max(90, { error: 'Name is too long (maximum is 90 characters)', abort: true })
  .refine((text) => /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text) && !text.includes(','), {
    error: ({ input }) =>
      `Name may only contain letters, numbers, spaces and symbols other than commas: it is ${JSON.stringify(input)}`,
  })

const attributes = z.object({
  name,
  description: z.string().max(1000).nullish(),
  'sso-team-id': z.string().max(1000).nullish(),
  visibility: visibility.optional(),
  'allow-member-token-management': z.boolean().optional(),
  'organization-access': organizationAccess.nullish(),
})

export const createTeamBody = requestBody('teams', attributes)
export type CreateTeam = z.infer<typeof createTeamBody>['data']['attributes']

export const updateTeamBody = requestBody('teams', attributes.partial())
export type UpdateTeam = z.infer<typeof updateTeamBody>['data']['attributes']

/** The ids of these users are their usernames. */
export const teamUsersBody = toMany('users')
export const teamMembershipsBody = toMany('organization-memberships')

export const teamSchema = linkedResource('teams', {
  attributes: {
    name: z.string(),
    description: nullable.string,
    'sso-team-id': nullable.string.describe('the name of the team in the identity provider'),
    'users-count': z.int(),
    'non-service-users-count': z.int().describe("the same as users-count: the team's service account is not counted"),
    visibility,
    'allow-member-token-management': z.boolean(),
    'is-unified': z.boolean().describe('always false'),
    'organization-access': z.strictObject(organizationAccess.required().shape),
    permissions: z.strictObject({
      'can-update-membership': z.boolean(),
      'can-destroy': z.boolean(),
      'can-update-organization-access': z.boolean(),
      'can-update-api-token': z.boolean(),
      'can-view-api-token': z.boolean(),
      'can-update-visibility': z.boolean(),
      'can-update-name': z.boolean(),
      'can-update-sso-team-id': z.boolean(),
      'can-update-member-token-management': z.boolean(),
    }),
  },
  relationships: {
    organization: hasOne('organizations'),
    users: hasMany('users'),
    'organization-memberships': hasMany('organization-memberships'),
    'authentication-token': linksToOne('authentication-tokens'),
    'authentication-tokens': linksToMany('authentication-tokens'),
  },
})
export type TeamResource = Written<typeof teamSchema>
