import type { Ctx } from '../../../app.ts'
import { conflict, forbidden, invalid, unauthorized } from '../../../errors.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { requireOrganization, requireOrganizationById } from '../../organizations/organizations/access.ts'
import { linkInstallation } from '../../vcs/github-app-installations/service.ts'
import { listLinked } from '../../vcs/github-app-installations/store.ts'
import { finishAuthorization, startAuthorization } from '../../vcs/oauth-clients/authorizations.ts'
import type { Callback } from './authorization.ts'
import { hostFetch, loadInstallation, recordAccepted, recordRefused, translateHostError } from './connection.ts'
import { githubAppSettings, requireGithubApp } from './github-app.ts'

/** GitHub's page on which the signed-in person installs the app for an organization. Throws `conflict` without an app. */
export async function startInstalling(ctx: Ctx, organizationName: string): Promise<string> {
  const { id } = await requireOrganization(ctx, organizationName, 'vcs-settings:manage')
  const { httpUrl, provider, slug } = requireSettings(ctx)
  const state = await startAuthorization(ctx, { organizationId: id, clientId: null })
  const path = provider === 'github' ? 'apps' : 'github-apps'
  return `${httpUrl}/${path}/${encodeURIComponent(slug)}/installations/new?state=${state}`
}

type SetUp = Callback & { installation_id?: string | undefined; setup_action?: string | undefined }

/**
 * Links the installation to the organization for which it was started, and returns the organization. The number in the URL proves nothing,
 * so GitHub is asked whether the person may use the installation.
 */
export async function finishInstalling(
  ctx: Ctx,
  { state, code, installation_id: number, setup_action: action }: SetUp,
) {
  const { organizationId, clientId } = await finishAuthorization(ctx, state ?? '')
  if (clientId !== null) throw unauthorized('the authorization was started for a connection')
  const organization = await requireOrganizationById(ctx, organizationId, 'vcs-settings:manage')
  if (action === 'request')
    throw conflict('GitHub has asked an owner of the account to install the app: start again when it is installed')
  const installationId = Number(number)
  if (!Number.isSafeInteger(installationId) || installationId < 1) throw invalid('GitHub named no installation')
  if (!code)
    throw invalid('GitHub sent no code: enable "Request user authorization (OAuth) during installation" in the app')
  await linkInstallation(ctx, organization.id, await readInstallation(ctx, installationId, code))
  return organization
}

async function readInstallation(ctx: Ctx, installationId: number, code: string) {
  const { provider, httpUrl, apiUrl, clientId, clientSecret } = requireSettings(ctx)
  const fetch = hostFetch(ctx, undefined)
  const redirectUrl = `${ctx.baseUrl}/github-app/setup`
  try {
    const app = requireGithubApp(ctx, { httpUrl, fetch })
    const grant = await hostOf(provider)
      .oauth?.({ httpUrl, fetch })
      .exchange({ clientId, clientSecret, redirectUrl, code })
    if (!grant || !(await app.isOpenTo(grant.token, installationId)))
      throw forbidden('GitHub says that you may not use this installation')
    const found = await app.findInstallation(installationId)
    if (!found) throw invalid('the app is not installed any more, or the installation is suspended')
    return {
      installation_id: installationId,
      name: found.name,
      icon_url: found.iconUrl,
      installation_type: found.type,
      installation_url: found.url,
      service_provider: provider,
      http_url: httpUrl,
      api_url: apiUrl,
    }
  } catch (error) {
    translateHostError(error)
  }
}

function requireSettings(ctx: Ctx) {
  const settings = githubAppSettings(ctx)
  if (!settings) throw conflict('this server has no GitHub App: its administrator can set one up')
  return settings
}

const CHANGES = new Map([
  ['deleted', 'removed'],
  ['suspend', 'suspended'],
])

/** What GitHub reports about an installation: it was removed or suspended, or is usable again. */
export async function recordInstallation(ctx: Ctx, installationId: number, action: string) {
  const { httpUrl } = requireSettings(ctx)
  for (const { id } of await listLinked(ctx.db, { installationId, httpUrl })) {
    const connection = await loadInstallation(ctx, id)
    const change = CHANGES.get(action)
    if (change !== undefined) await recordRefused(ctx, connection, `the GitHub App was ${change} on GitHub`)
    else if (action === 'unsuspend') await recordAccepted(ctx, connection.row)
  }
}
