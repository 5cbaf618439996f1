import type { membershipPage } from '@groundstate/contract/memberships'
import type { organizationSchema } from '@groundstate/contract/organizations'
import type { Wire } from '@groundstate/contract/responses'
import type { memberUserSchema } from '@groundstate/contract/users'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, invalidate, useChange } from '../../api/queries.ts'
import { loaded } from '../../components/feedback.tsx'
import { useOrganization } from '../organizations/organizations.ts'

const route = getRouteApi('/frame/app/$organization')

export type Organization = Wire<typeof organizationSchema>

/** The organization of the address, and what to render until it is known. */
export function useOpenOrganization() {
  const { organization: name } = route.useParams()
  return { name, ...loaded(useOrganization(name)) }
}

type Settings = Partial<
  Pick<
    Organization['attributes'],
    | 'name'
    | 'collaborator-auth-policy'
    | 'session-timeout'
    | 'session-remember'
    | 'owners-team-saml-role-id'
    | 'user-tokens-enabled'
    | 'default-execution-mode'
    | 'allow-force-delete-workspaces'
  > & { email: string }
>
/** `onRenamed` leaves the old address, at which nothing can be read any more. */
export function useRenameOrganization(name: string, onRenamed: (name: string) => Promise<void>) {
  return useMutation({
    mutationFn: async (next: string) => patch(name, { attributes: { name: next } }),
    onSuccess: async (_, next) => {
      await onRenamed(next)
      await invalidate(['organizations'])
    },
  })
}

type Update = { attributes: Settings; poolId?: string | null }

async function patch(name: string, { attributes, poolId }: Update) {
  const pool = poolId === null ? null : { type: 'agent-pools', id: poolId }
  const relationships = poolId === undefined ? undefined : { 'default-agent-pool': { data: pool } }
  return request('PATCH', `/organizations/${name}`, { data: { type: 'organizations', attributes, relationships } })
}

export function useUpdateOrganization(name: string) {
  return useChange(
    async (update: Update) => patch(name, update),
    ['organizations'],
    // Workspaces and projects inherit the defaults.
    ['workspaces', name],
    ['projects', name],
  )
}

export async function deleteOrganization(name: string) {
  await request('DELETE', `/organizations/${name}`)
}

const SHOWN_MEMBERS = 20

/** Members with a password and without two-factor authentication: the first ones, and the number of all. */
export function useUnsecuredMembers(organization: string, isEnabled: boolean) {
  return useQuery({
    queryKey: ['organization-memberships', organization, 'unsecured'],
    enabled: isEnabled,
    queryFn: async () => {
      const query = queryString({ 'filter[two_factor]': 'false', include: 'user', 'page[size]': SHOWN_MEMBERS })
      const document = await get<Wire<typeof membershipPage> & { included?: Wire<typeof memberUserSchema>[] }>(
        `/organizations/${organization}/organization-memberships${query}`,
      )
      const included = includedOf(document)
      const members = document.data.flatMap(({ id, relationships }) => {
        const user = included.one('users', relationships.user)
        return user ? [{ id, username: user.attributes.username }] : []
      })
      return { members, total: document.meta['status-counts'].total }
    },
  })
}
