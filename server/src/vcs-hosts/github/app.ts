import { createAppAuth } from '@octokit/auth-app'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type HostApi, type HostConnection, HostError } from '../host.ts'
import { readPages, undefinedIfMissing } from '../requests.ts'
import { type Ask, createAsk, createOctokit, github, installationApi } from './api.ts'
import {
  installationSchema,
  installationTokenSchema,
  repositoryCountSchema,
  userInstallationsSchema,
} from './schemas.ts'

/** A GitHub App that owners of repositories install. */
export type GithubApp = {
  /** The installations of all accounts, without suspended ones. Throws a `HostError`. */
  listInstallations(): Promise<GithubInstallation[]>
  /** Undefined if it was removed or suspended. Throws a `HostError`. */
  findInstallation(installationId: number): Promise<GithubInstallation | undefined>
  /** A token for git, valid for at least ten minutes. Throws a `HostError`: `unauthorised` if the installation was removed or suspended. */
  installationToken(installationId: number): Promise<string>
  /** `fetch` is used for requests with the token of the installation, but not to get that token. */
  api(installationId: number, fetch?: HostConnection['fetch']): HostApi
  /**
   * Whether the person with this token of the app may use all repositories of the installation: GitHub also lists it to those who may read one.
   * Throws a `HostError`.
   */
  isOpenTo(userToken: string, installationId: number): Promise<boolean>
}

export type GithubInstallation = {
  installationId: number
  /** Login of the organization or user that has installed the app. */
  name: string
  iconUrl: string
  /** `Organization` or `User`. */
  type: string
  url: string
}

export type GithubAppOptions = Pick<HostConnection, 'apiUrl' | 'fetch'> & {
  appId: string
  /** In PEM. */
  privateKey: string
}

/** GitHub's tokens of installations expire after an hour. */
const TOKEN_TTL_MS = 50 * 60_000
const MAX_TOKENS = 10_000

export function createGithubApp({ appId, privateKey, ...connection }: GithubAppOptions): GithubApp {
  const auth = createAppAuth({ appId, privateKey })
  const octokit = createOctokit(connection)
  octokit.hook.before('request', async (options) => {
    const { token } = await auth({ type: 'app' }).catch(() => {
      throw new HostError('unauthorised', `the private key of the GitHub App ${appId} is not an RSA key in PEM`)
    })
    options.headers.authorization = `bearer ${token}`
  })
  const ask = createAsk(octokit, { name: github.name, connection })
  const tokens = new LRUCache<number, string>({ max: MAX_TOKENS, ttl: TOKEN_TTL_MS, fetchMethod: createToken })

  async function createToken(installationId: number) {
    try {
      const { data } = await ask('get a token of an installation', installationTokenSchema, {
        route: 'POST /app/installations/{installation_id}/access_tokens',
        parameters: { installation_id: installationId },
      })
      return data.token
    } catch (error) {
      // GitHub answers 404 for an installation that was removed, and 403 for one that was suspended.
      if (!(error instanceof HostError) || !['not-found', 'forbidden'].includes(error.kind)) throw error
      throw new HostError('unauthorised', notInstalled(installationId))
    }
  }

  /** Concurrent requests share one token. */
  const tokenOf = async (installationId: number) => tokens.forceFetch(installationId)

  async function findInstallation(installationId: number) {
    const found = await undefinedIfMissing(
      ask(`read the installation ${installationId}`, installationSchema, {
        route: 'GET /app/installations/{installation_id}',
        parameters: { installation_id: installationId },
      }),
    )
    return found && installed(found.data)
  }

  /** Requests with the token of an installation. GitHub may revoke one early; then a new one works, or tells why there is none. */
  function askAs(installationId: number, fetch = connection.fetch): Ask {
    const own = { ...connection, fetch }
    const octokit = createOctokit(own)
    octokit.hook.before('request', async (options) => {
      options.headers.authorization = `token ${await tokenOf(installationId)}`
    })
    const send = createAsk(octokit, { name: github.name, connection: own })
    return async (task, schema, request) =>
      send(task, schema, request).catch(async (error: unknown) => {
        const isRefused = error instanceof HostError && error.kind === 'unauthorised' && tokens.delete(installationId)
        if (!isRefused) throw error
        return send(task, schema, request)
      })
  }

  return {
    async listInstallations() {
      const rows = await readPages('list installations', async (page) =>
        ask('list installations', z.array(installationSchema), {
          route: 'GET /app/installations',
          parameters: { per_page: 100, page },
        }),
      )
      return rows.flatMap((row) => installed(row) ?? [])
    },
    findInstallation,
    async isOpenTo(userToken, installationId) {
      const octokit = createOctokit(connection)
      octokit.hook.before('request', (options) => {
        options.headers.authorization = `token ${userToken}`
      })
      const ask = createAsk(octokit, { name: github.name, connection: { ...connection, token: userToken } })
      const task = 'list the installations of the user'
      const isIt = ({ id }: { id: number }) => id === installationId
      const rows = await readPages(
        task,
        async (page) => {
          const { data, next } = await ask(task, userInstallationsSchema, {
            route: 'GET /user/installations',
            parameters: { per_page: 100, page },
          })
          return { data: data.installations, next }
        },
        { isEnough: (rows) => rows.some(isIt) },
      )
      if (!rows.some(isIt)) return false
      const own = await countRepositories(ask, `GET /user/installations/${installationId}/repositories`)
      return own >= (await countRepositories(askAs(installationId), 'GET /installation/repositories'))
    },
    installationToken: tokenOf,
    api: (installationId, fetch) =>
      installationApi(askAs(installationId, fetch), async () => {
        const found = await findInstallation(installationId)
        if (!found) throw new HostError('unauthorised', notInstalled(installationId))
        return found.name
      }),
  }
}

async function countRepositories(ask: Ask, route: string) {
  const request = { route, parameters: { per_page: 1 } }
  const { data } = await ask('count the repositories of an installation', repositoryCountSchema, request)
  return data.total_count
}

function notInstalled(installationId: number) {
  return `the installation ${installationId} of the GitHub App was removed or suspended`
}

function installed({
  id,
  html_url: url,
  target_type: type,
  suspended_at: suspendedAt,
  account,
}: z.infer<typeof installationSchema>) {
  if (suspendedAt || !account) return undefined
  return { installationId: id, name: account.login, iconUrl: account.avatar_url, type, url }
}
