import { z } from 'zod'
import { identifiersBody, requestBody, toOne } from './json-api.ts'
import { resourceName } from './organizations.ts'

const flag = z.boolean().optional()

/** What a team may do in the whole organization. */
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

const attributes = z.object({
  name: resourceName('Name'),
  description: z.string().max(1000).nullish(),
  'sso-team-id': z.string().max(1000).nullish(),
  visibility: z.enum(['secret', 'organization']).optional(),
  'allow-member-token-management': z.boolean().optional(),
  'organization-access': organizationAccess.nullish(),
})

export const createTeamBody = requestBody('teams', attributes)
export type CreateTeam = z.infer<typeof createTeamBody>['data']['attributes']

export const updateTeamBody = requestBody('teams', attributes.partial())
export type UpdateTeam = z.infer<typeof updateTeamBody>['data']['attributes']

/** Users stand here by their names, not by their ids. */
export const teamUsersBody = identifiersBody('users')
export const teamMembershipsBody = identifiersBody('organization-memberships')

const workspaceAccess = {
  runs: z.enum(['read', 'plan', 'apply']).optional(),
  variables: z.enum(['none', 'read', 'write']).optional(),
  'state-versions': z.enum(['none', 'read-outputs', 'read', 'write']).optional(),
  'sentinel-mocks': z.enum(['none', 'read']).optional(),
  'run-tasks': flag,
  'policy-overrides': flag,
}

const teamWorkspace = z.object({
  access: z.enum(['read', 'plan', 'write', 'admin', 'custom']),
  ...workspaceAccess,
  'workspace-locking': flag,
})
export const createTeamWorkspaceBody = requestBody(
  'team-workspaces',
  teamWorkspace,
  z.object({ team: toOne('teams'), workspace: toOne('workspaces') }),
)
export type CreateTeamWorkspace = z.infer<typeof createTeamWorkspaceBody>['data']
export const updateTeamWorkspaceBody = requestBody('team-workspaces', teamWorkspace.partial())
export type UpdateTeamWorkspace = z.infer<typeof updateTeamWorkspaceBody>['data']['attributes']

const teamProject = z.object({
  access: z.enum(['read', 'write', 'maintain', 'admin', 'custom']),
  'project-access': z
    .object({
      settings: z.enum(['read', 'update', 'delete']).optional(),
      teams: z.enum(['none', 'read', 'manage']).optional(),
      'variable-sets': z.enum(['none', 'read', 'write']).optional(),
    })
    .optional(),
  'workspace-access': z
    .object({ ...workspaceAccess, create: flag, move: flag, locking: flag, delete: flag })
    .optional(),
})
export const createTeamProjectBody = requestBody(
  'team-projects',
  teamProject,
  z.object({ team: toOne('teams'), project: toOne('projects') }),
)
export type CreateTeamProject = z.infer<typeof createTeamProjectBody>['data']
export const updateTeamProjectBody = requestBody('team-projects', teamProject.partial())
export type UpdateTeamProject = z.infer<typeof updateTeamProjectBody>['data']['attributes']
