import { createAppAuth } from '@octokit/auth-app'
import { z } from 'zod'
import { type HostApi, type HostConnection, HostError } from '../host.ts'
import { createRequests, readPages, undefinedIfMissing } from '../requests.ts'
import { createAsk, createOctokit, installationApi, rethrowHostError } from './api.ts'
import { installation } from './schemas.ts'

/** A GitHub App that owners of repositories install. */
export type GithubApp = {
  /** Of all accounts. Suspended ones are missing. Throws a `HostError`. */
  listInstallations(): Promise<GithubInstallation[]>
  /** Undefined if it was removed or suspended. Throws a `HostError`. */
  findInstallation(installationId: number): Promise<GithubInstallation | undefined>
  /** A token for git, valid for at least a minute. Throws a `HostError`: `unauthorised` if the installation was removed or suspended. */
  installationToken(installationId: number): Promise<string>
  api(installationId: number): HostApi
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

const NAME = 'GitHub'

export function createGithubApp({ appId, privateKey, ...connection }: GithubAppOptions): GithubApp {
  const octokit = createOctokit(connection)
  const requests = createRequests(NAME, connection)
  const fetch = requests.fetchFor('get a token of an installation')
  const auth = createAppAuth({ appId, privateKey, request: octokit.request.defaults({ request: { fetch } }) })
  octokit.hook.before('request', async (options) => {
    const { token } = await auth({ type: 'app' })
    options.headers.authorization = `bearer ${token}`
  })
  const ask = createAsk(NAME, octokit, connection)

  async function findInstallation(installationId: number) {
    const found = await undefinedIfMissing(
      ask(`read the installation ${installationId}`, installation, {
        route: 'GET /app/installations/{installation_id}',
        parameters: { installation_id: installationId },
      }),
    )
    return found && installed(found.data)
  }

  async function installationToken(installationId: number) {
    try {
      const { token } = await auth({ type: 'installation', installationId }).catch(rethrowHostError)
      return requests.parse('get a token of an installation', z.string().min(1), token)
    } catch (error) {
      // GitHub answers 404 for an installation that was removed, and 403 for one that was suspended.
      if (!(error instanceof HostError) || !['not-found', 'forbidden'].includes(error.kind)) throw error
      throw new HostError('unauthorised', notInstalled(installationId))
    }
  }

  return {
    async listInstallations() {
      const rows = await readPages('list installations', async (page) =>
        ask('list installations', z.array(installation), {
          route: 'GET /app/installations',
          parameters: { per_page: 100, page },
        }),
      )
      return rows.flatMap((row) => installed(row) ?? [])
    },
    findInstallation,
    installationToken,
    api(installationId) {
      const octokit = createOctokit(connection)
      octokit.hook.before('request', async (options) => {
        options.headers.authorization = `token ${await installationToken(installationId)}`
      })
      return installationApi(createAsk(NAME, octokit, connection), async () => {
        const found = await findInstallation(installationId)
        if (!found) throw new HostError('unauthorised', notInstalled(installationId))
        return found.name
      })
    },
  }
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
}: z.output<typeof installation>) {
  if (suspendedAt || !account) return undefined
  return { installationId: id, name: account.login, iconUrl: account.avatar_url, type, url }
}
