import type { QueryKey } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { request } from '../api/client.ts'
import { holdRefetches } from '../api/live.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Target } from './links.tsx'
import { toast } from './overlay-hosts.tsx'

type Deletion = {
  path: string
  /** `POST` for an action that deletes. */
  method?: 'DELETE' | 'POST'
  name: string
  /** The page to go to. */
  target: Target
  /** The query of the open page. */
  own: QueryKey
  /** Keys of other queries to invalidate. */
  affected: readonly QueryKey[]
}

/**
 * Deletes the resource of the open page. Leaves the page before it could refetch and show that the resource is missing, even if
 * the event stream reports the deletion before its response.
 */
export function useDeleteAndLeave() {
  const navigate = useNavigate()
  return async ({ method = 'DELETE', path, name, target, own, affected }: Deletion) => {
    await holdRefetches(async () => {
      await request(method, path)
      toast({ text: `${name} deleted` })
      await navigate({ ...target, ignoreBlocker: true } as Parameters<typeof navigate>[0])
      queries.removeQueries({ queryKey: own })
    })
    await invalidate(...affected)
  }
}
