import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { CreateTeam, UpdateTeam, teamSchema } from '@groundstate/contract/teams'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { keepWithin, useChange } from '../../api/queries.ts'
import { capitalized } from '../../components/numbers.ts'

export type Team = Wire<typeof teamSchema>
type OrganizationAccess = keyof Team['attributes']['organization-access']

export function useTeams(organization: string, { q, page = 1 }: { q?: string | undefined; page?: number | undefined }) {
  const query = queryString({ q, 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: ['teams', organization, q, page],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof teamSchema>>(`/organizations/${organization}/teams${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

export function useTeam(id: string | undefined) {
  return useQuery({
    queryKey: ['teams', id],
    enabled: id !== undefined,
    queryFn: async ({ signal }) => getData<DocumentOnWire<typeof teamSchema>>(`/teams/${id}`, signal),
  })
}

/** Teams for a picker. */
export async function findTeams(organization: string, q: string, signal: AbortSignal) {
  const path = `/organizations/${organization}/teams${queryString({ q, 'page[size]': 50 })}`
  return getData<PageOnWire<typeof teamSchema>>(path, signal)
}

/** Teams to which the user may add people, for a picker. */
export async function findManagedTeams(organization: string, q: string, signal: AbortSignal) {
  return (await findTeams(organization, q, signal))
    .filter(({ attributes }) => attributes.permissions['can-update-membership'])
    .map(({ id, attributes }) => ({ value: id, text: attributes.name, about: attributes.description ?? undefined }))
}

export function useCreateTeam(organization: string) {
  return useChange(
    async (attributes: CreateTeam) =>
      request<DocumentOnWire<typeof teamSchema>>('POST', `/organizations/${organization}/teams`, {
        data: { type: 'teams', attributes },
      }),
    ['teams', organization],
  )
}

/** Changes a team. What its members may do may change for the user too. */
export function useUpdateTeam(organization: string, id: string) {
  return useChange(
    async (attributes: UpdateTeam) => request('PATCH', `/teams/${id}`, { data: { type: 'teams', attributes } }),
    ['teams'],
    ['organizations', organization],
    ['workspaces'],
    ['projects'],
  )
}

/** The organization access that has an effect on this server, in words that follow "Members can". */
export const ORGANIZATION_ACCESS = {
  'read-workspaces': { text: 'See all workspaces', about: 'With their runs, variables and states.' },
  'manage-workspaces': { text: 'Manage all workspaces', about: 'Create, change, run and delete them.' },
  'read-projects': { text: 'See all projects', about: 'With their workspaces.' },
  'manage-projects': { text: 'Manage all projects', about: 'Create, change and delete them, with their workspaces.' },
  'manage-run-tasks': { text: 'Manage run tasks', about: 'Create and change them for the organization.' },
  'manage-policies': {
    text: 'Manage policies',
    about: 'Create policies and policy sets, and choose where they apply, among what they see.',
  },
  'manage-policy-overrides': {
    text: 'Override policies',
    about: 'Let runs continue that failed a mandatory policy, in workspaces that they see.',
  },
  'manage-modules': { text: 'Manage modules', about: 'Publish modules in the registry, and delete them.' },
  'manage-providers': { text: 'Manage providers', about: 'Publish providers in the registry, and their signing keys.' },
  'manage-vcs-settings': {
    text: 'Manage connections',
    about: 'Connect hosts of repositories, and create and change SSH keys.',
  },
  'manage-agent-pools': { text: 'Manage agent pools', about: 'Create pools and their tokens.' },
  'manage-membership': { text: 'Manage members', about: 'Invite and remove people, and add them to teams.' },
  'manage-teams': { text: 'Manage teams', about: 'Create, change and delete teams, and manage members.' },
  'manage-organization-access': {
    text: 'Manage organization access',
    about: 'Change these permissions of teams, and manage teams.',
  },
  'access-secret-teams': { text: 'See secret teams', about: 'Including those to which they don’t belong.' },
} as const satisfies Partial<Record<OrganizationAccess, { text: string; about: string }>>

export const ACCESS_NAMES = Object.keys(ORGANIZATION_ACCESS) as (keyof typeof ORGANIZATION_ACCESS)[]

/** Access that includes other access, which cannot be withdrawn while it is granted. */
export const INCLUDED_ACCESS: Partial<Record<OrganizationAccess, OrganizationAccess>> = {
  'manage-workspaces': 'manage-projects',
  'read-workspaces': 'read-projects',
}

export function isOwners({ attributes }: Team) {
  return attributes.name === 'owners'
}

/** Why a member of the owners team cannot be removed. */
export function lastOwnerReason(team: Team) {
  const isLast = isOwners(team) && team.attributes['users-count'] === 1
  return isLast ? 'the last owner can’t be removed: add another owner first' : undefined
}

/** A team's permissions in the organization: "See all workspaces, manage run tasks"; empty for nothing. */
export function organizationAccessText(team: Team) {
  if (isOwners(team)) return 'Full access to everything'
  const names = ACCESS_NAMES.filter((name) => team.attributes['organization-access'][name])
  return capitalized(names.map((name) => ORGANIZATION_ACCESS[name].text.toLowerCase()).join(', '))
}
