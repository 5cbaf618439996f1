import { decoded } from '../bodies.ts'
import type { HostConnection } from '../host.ts'
import { type ApiHost, request } from '../requests.ts'
import { accountSchema, collectionSchema, connectionDataSchema, listOf, profileSchema } from './schemas.ts'

/** The user of a token, and the organizations or collections that it reaches. */
export type AzureDirectory = {
  /** For addresses that start with an organization or collection. */
  root: string
  readUser: () => Promise<string>
  listOwners: () => Promise<string[]>
}

const PROFILES = 'https://app.vssps.visualstudio.com/_apis'

/**
 * Azure DevOps Services has a directory of its organizations, which only tokens for all of them may read. For the others, the address of the
 * connection has the organization: `https://dev.azure.com/acme`.
 */
export function azureDirectory(host: ApiHost, { apiUrl }: Pick<HostConnection, 'apiUrl'>): AzureDirectory {
  const { origin, pathname, hostname } = new URL(apiUrl)
  const organization = decoded(pathname.split('/')[1] ?? '')
  const task = 'read the user of the token'
  const readUserAt = async (url: string) => {
    const found = await request(host, connectionDataSchema, { task, url: `${url}/_apis/connectionData` })
    return found.authenticatedUser.providerDisplayName
  }

  if (hostname !== 'dev.azure.com') {
    return {
      root: apiUrl,
      readUser: () => readUserAt(apiUrl),
      async listOwners() {
        const url = `${apiUrl}/_apis/projectCollections?api-version=5.0-preview.1`
        const found = await request(host, listOf(collectionSchema), { task: 'list collections', url })
        return found.value.map(({ name }) => name)
      },
    }
  }
  if (organization !== '') {
    return {
      root: origin,
      readUser: () => readUserAt(`${origin}/${encodeURIComponent(organization)}`),
      listOwners: async () => [organization],
    }
  }
  const profile = () => request(host, profileSchema, { task, url: `${PROFILES}/profile/profiles/me?api-version=5.0` })
  return {
    root: origin,
    readUser: async () => (await profile()).displayName,
    async listOwners() {
      const { id } = await profile()
      const url = `${PROFILES}/accounts?memberId=${encodeURIComponent(id)}&api-version=5.0`
      const found = await request(host, listOf(accountSchema), { task: 'list organizations', url })
      return found.value.map(({ accountName }) => accountName)
    },
  }
}
