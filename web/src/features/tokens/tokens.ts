import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { teamSchema } from '@groundstate/contract/teams'
import type { tokenSchema } from '@groundstate/contract/tokens'
import type { userSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { ApiError, get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'

/** `id` is the name of an organization. */
export type TokenOwner = { kind: 'user' | 'team' | 'agent-pool' | 'organization'; id: string; name: string }
/** Owners of several tokens; an organization has one of each kind. */
export type ListOwner = TokenOwner & { kind: 'user' | 'team' | 'agent-pool' }

export type Token = Wire<typeof tokenSchema>
type TokenPage = PageOnWire<typeof tokenSchema> & { included?: readonly Wire<typeof teamSchema | typeof userSchema>[] }
/** A token with what the list shows of its creator and team. */
export type TokenRow = Token & { creator: string | undefined; team: { id: string; name: string } | undefined }

const PATHS = { user: 'users', team: 'teams', 'agent-pool': 'agent-pools' } as const

function listPath({ kind, id }: ListOwner) {
  return `/${PATHS[kind]}/${id}/authentication-tokens`
}

async function getTokens(path: string, query: Record<string, string | number | undefined>) {
  const document = await get<TokenPage>(
    `${path}${queryString({ include: 'created_by,team', 'page[size]': 20, ...query })}`,
  )
  const included = includedOf(document)
  const rows = document.data.map((token): TokenRow => {
    const team = included.one('teams', token.relationships.team)
    return {
      ...token,
      creator: included.one('users', token.relationships['created-by'])?.attributes.username,
      team: team && { id: team.id, name: team.attributes.name },
    }
  })
  return { rows, pagination: document.meta.pagination }
}

export function useTokens(owner: ListOwner, page: number) {
  return useQuery({
    queryKey: ['tokens', owner.id, page],
    placeholderData: keepWithin(owner.id),
    queryFn: async () => getTokens(listPath(owner), { 'page[number]': page }),
  })
}

type TeamTokenFilter = { q: string | undefined; page: number }

/** The tokens of all teams of an organization that the user may see. */
export function useTeamTokens(organization: string, { q, page }: TeamTokenFilter) {
  return useQuery({
    queryKey: ['tokens', organization, 'teams', q, page],
    placeholderData: keepWithin(organization),
    queryFn: async () => getTokens(`/organizations/${organization}/team-tokens`, { q, 'page[number]': page }),
  })
}

export type SingleKind = 'organization' | 'audit-trails'

function singlePath(organization: string, kind: SingleKind) {
  return `/organizations/${organization}/authentication-token?token=${kind}`
}

/** The token of that kind of an organization; null if there is none. */
export function useSingleToken(organization: string, kind: SingleKind) {
  return useQuery({
    queryKey: ['tokens', organization, kind],
    queryFn: async () => {
      try {
        return await getData<DocumentOnWire<typeof tokenSchema>>(singlePath(organization, kind))
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      }
    },
  })
}

type NewToken = { description?: string | undefined; 'expired-at'?: string | null }

/** Creates a token. Its secret is in the response only, which is dropped when the page is left. */
function useCreate(path: string, owner: string) {
  return useChange(
    async (attributes: NewToken) =>
      request<DocumentOnWire<typeof tokenSchema>>('POST', path, {
        data: { type: 'authentication-tokens', attributes },
      }),
    ['tokens', owner],
  )
}

export function useCreateToken(owner: ListOwner) {
  return useCreate(listPath(owner), owner.id)
}

/** Replaces an earlier token of the kind, which stops working. */
export function useCreateSingleToken(organization: string, kind: SingleKind) {
  return useCreate(singlePath(organization, kind), organization)
}

export async function revokeToken(id: string) {
  await sendAndRefetch('DELETE', `/authentication-tokens/${id}`, ['tokens'])
}

/** `2y` → `2 years`. */
export function ttlText(ttl: string) {
  const count = Number.parseInt(ttl, 10)
  return `${count} ${ttl.endsWith('y') ? 'year' : 'day'}${count === 1 ? '' : 's'}`
}

const DAY_MS = 86_400_000

/** The attribute of a token that expires after a number of days, or by the server's default for an empty text. */
export function expiryAfter(days: string) {
  return days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
}

/** Attributes of a token that replaces `token`: the same lifetime, and a description that no other token of the owner has. */
export function rotated({ id, attributes }: Token, kind: ListOwner['kind'], now = Date.now()): NewToken {
  const { description, 'created-at': start, 'expired-at': end } = attributes
  const lifetime = end === null ? undefined : Date.parse(end) - Date.parse(start)
  const base = (description || id).replace(ROTATION, '')
  return {
    // Only a team's tokens need different descriptions.
    description: kind === 'team' ? `${base} (rotated ${new Date(now).toISOString().slice(0, 19)}Z)` : base,
    ...(kind !== 'agent-pool' && {
      'expired-at': lifetime === undefined ? null : new Date(now + lifetime).toISOString(),
    }),
  }
}

const ROTATION = / \(rotated [\d:TZ-]+\)$/

/** Expiry of a token for the user, who has to act on some of them. */
export function expiryState(end: string | null, now: number) {
  if (end === null) return 'never'
  const left = Date.parse(end) - now
  if (left <= 0) return 'expired'
  return left <= WARNING_MS ? 'soon' : 'later'
}

const WARNING_MS = 14 * DAY_MS
