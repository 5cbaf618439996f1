import { MutationCache, QueryCache, QueryClient, type QueryKey, useMutation } from '@tanstack/react-query'
import { ApiError, isNotFound, request } from './client.ts'

/**
 * The first member of a query key is the type of the response, the second its scope: the id of a resource or the name of an
 * organization. The event stream refetches by these two; see `live.ts`.
 */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onError }),
  mutationCache: new MutationCache({ onError: onError }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => isTransient(error) && failures < 3,
      refetchOnWindowFocus: true,
      staleTime: 5000,
    },
    // Inputs and responses may be secret, such as passwords, tokens and values of variables.
    mutations: { gcTime: 0 },
  },
})

export async function invalidate(...keys: readonly QueryKey[]) {
  await Promise.all(keys.map(async (queryKey) => queries.invalidateQueries({ queryKey })))
}

/** Sends a request without a body and then, even after an error, refetches the queries under each of the keys. */
export async function sendAndRefetch(method: string, path: string, ...keys: readonly QueryKey[]) {
  try {
    await request(method, path)
  } finally {
    await invalidate(...keys)
  }
}

/** A mutation that invalidates the queries under each of the keys when it succeeds. */
export function useChange<Input, Output>(change: (input: Input) => Promise<Output>, ...keys: readonly QueryKey[]) {
  return useMutation({ mutationFn: change, onSuccess: async () => invalidate(...keys) })
}

/** Statuses that a proxy returns while the server restarts. */
const TRANSIENT_STATUSES = new Set([502, 503, 504])

/** Whether a retry may succeed. Other errors of the API are final. */
export function isTransient(error: Error) {
  return !(error instanceof ApiError) || TRANSIENT_STATUSES.has(error.status)
}

type Read = { data: unknown; error: Error | null; refetch: () => Promise<unknown> }

/**
 * The first error that prevents showing data, with a retry. A failed refetch is none: the earlier data remains shown, unless
 * the resource no longer exists.
 */
export function failureOf(...reads: readonly Read[]): { error: Error; onRetry: () => void } | undefined {
  for (const { data, error, refetch } of reads) {
    if (error && (data === undefined || isNotFound(error))) return { error, onRetry: () => void refetch() }
  }
  return undefined
}

/** A 401 means that the session has ended: the frame then redirects to sign-in and back. */
function onError(error: Error) {
  if (error instanceof ApiError && error.status === 401) void invalidate(['session'])
}

/** Whether a query has the scope. */
export function isOfScope(query: { queryKey: readonly unknown[] } | undefined, scope: string) {
  return query?.queryKey[1] === scope
}

/**
 * As `placeholderData`: the previous response of the same scope remains shown until that of the next search or page arrives.
 * Rows of one organization must never appear as those of another.
 */
export function keepWithin(scope: string) {
  return <Data>(previous: Data | undefined, query: { queryKey: readonly unknown[] } | undefined) =>
    isOfScope(query, scope) ? previous : undefined
}

type Identifier = { id: string; type: string }
type Related = { data?: Identifier | null | readonly Identifier[] } | undefined

/** Finds the included resources of a document by the relationships that name them. */
export function includedOf<Resource extends Identifier>(document: { included?: readonly Resource[] | undefined }) {
  const byId = new Map((document.included ?? []).map((resource) => [`${resource.type} ${resource.id}`, resource]))
  type OfType<Type extends string> = Extract<Resource, { type: Type }>
  const find = <Type extends Resource['type']>(type: Type, identifier: Identifier | null | undefined) =>
    identifier?.type === type ? (byId.get(`${type} ${identifier.id}`) as OfType<Type> | undefined) : undefined
  return {
    /** The resource of a to-one relationship; undefined if null or not included. */
    one<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      return find(type, data !== undefined && data !== null && 'id' in data ? data : undefined)
    },
    /** The included resources of a to-many relationship, in order. */
    many<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      const list = Array.isArray(data) ? (data as readonly Identifier[]) : []
      return list.map((identifier) => find(type, identifier)).filter((match) => match !== undefined)
    },
  }
}
