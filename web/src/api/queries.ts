import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, isNotFound } from './client.ts'

/**
 * The first member of every query key is what the response is about, the second its scope: the id of a resource or the name
 * of an organization. The stream of changes refetches by these two; see `live.ts`.
 */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onError }),
  mutationCache: new MutationCache({ onError: onError }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => isPassing(error) && failures < 3,
      refetchOnWindowFocus: true,
      staleTime: 5000,
    },
    // What was sent may be secret, such as a password or the value of a variable.
    mutations: { gcTime: 0 },
  },
})

/** Statuses that a proxy returns while the server restarts. */
const PASSING = new Set([502, 503, 504])

/** Other errors of the API are final. */
export function isPassing(error: Error) {
  return !(error instanceof ApiError) || PASSING.has(error.status)
}

type Read = { data: unknown; error: Error | null; refetch: () => Promise<unknown> }

/**
 * Why what is read can't be shown, of the first that failed, and the way to read it again. What is on the screen stays when a
 * later read of it fails, until the response is that it is not there: undefined then, and while nothing has failed.
 */
export function failureOf(...reads: readonly Read[]): { error: Error; onRetry: () => void } | undefined {
  for (const { data, error, refetch } of reads) {
    if (error && (data === undefined || isNotFound(error))) return { error, onRetry: () => void refetch() }
  }
  return undefined
}

/** A session that has ended is seen at the first refused request: the frame then leads to sign-in and back. */
function onError(error: Error) {
  if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: ['session'] })
}

/**
 * Whether a query is of the scope: then its response may stay on the screen, as `placeholderData`, until that of the next
 * search or page is there. The rows of another organization are never shown as those of this one.
 */
export function isOfScope(query: { queryKey: readonly unknown[] } | undefined, scope: string) {
  return query?.queryKey[1] === scope
}

type Identifier = { id: string; type: string }
type Related = { data?: Identifier | null | readonly Identifier[] } | undefined

/** Finds the included resources of a document by the relations that name them. */
export function includedOf<Resource extends Identifier>(document: { included?: readonly Resource[] | undefined }) {
  const byId = new Map((document.included ?? []).map((resource) => [`${resource.type} ${resource.id}`, resource]))
  type OfType<Type extends string> = Extract<Resource, { type: Type }>
  const find = <Type extends Resource['type']>(type: Type, identifier: Identifier | null | undefined) =>
    identifier?.type === type ? (byId.get(`${type} ${identifier.id}`) as OfType<Type> | undefined) : undefined
  return {
    /** The resource of a relation to one; undefined when there is none or it was not included. */
    one<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      return find(type, data !== undefined && data !== null && 'id' in data ? data : undefined)
    },
    /** The resources of a relation to many, in their order. */
    many<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      const list = Array.isArray(data) ? (data as readonly Identifier[]) : []
      return list.map((identifier) => find(type, identifier)).filter((found) => found !== undefined)
    },
  }
}
