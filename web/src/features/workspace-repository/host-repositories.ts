import type { authorizedRepoSchema } from '@groundstate/contract/oauth-clients'
import type { Wire } from '@groundstate/contract/responses'
import { getData, queryString } from '../../api/client.ts'
import type { Choice } from '../../components/picker.tsx'

type AuthorizedRepos = { data: Wire<typeof authorizedRepoSchema>[] }

/**
 * A picker's search for repositories on the host of a token. `workspaceId` is for users who may change that workspace, but not create others.
 */
export function findHostRepositories(tokenId: string, workspaceId: string | undefined) {
  return async (q: string, signal: AbortSignal): Promise<Choice[]> => {
    const path = `/oauth-tokens/${tokenId}/authorized-repos${queryString({ q, workspace: workspaceId })}`
    const repositories = await getData<AuthorizedRepos>(path, signal)
    return repositories.map(({ attributes }) => {
      const name = attributes['display-identifier']
      return { value: name, text: name }
    })
  }
}
