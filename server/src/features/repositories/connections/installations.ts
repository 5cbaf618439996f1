import type { Ctx } from '../../../app.ts'
import { conflict, forbidden, invalid, unauthorized } from '../../../errors.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { requireOrganization, requireOrganizationById } from '../../organizations/organizations/access.ts'
import { linkInstallation } from '../../vcs/github-app-installations/service.ts'
import { listLinked } from '../../vcs/github-app-installations/store.ts'
import { finishAuthorization, startAuthorization } from '../../vcs/oauth-clients/authorizations.ts'
import { type Callback, reasonOf } from './authorization.ts'
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
 * Links the installation to the organization for which it was started, and returns the path of its connections. The number in the URL proves
 * nothing, so GitHub is asked whether the person may use all of the installation: without a code, the path of GitHub's page that issues one is
 * returned first (public documentation: "About the setup URL").
 */
export async function finishInstalling(ctx: Ctx, { state, code, ...query }: SetUp): Promise<string> {
  const { organizationId, clientId, installationId: chosen } = await finishAuthorization(ctx, state ?? '')
  if (clientId !== null) throw unauthorized('the authorization was started for a connection')
  const organization = await requireOrganizationById(ctx, organizationId, 'vcs-settings:manage')
  if (query.error !== undefined) throw forbidden(`GitHub did not authorize it: ${reasonOf(query)}`)
  if (query.setup_action === 'request')
    throw conflict('GitHub has asked an owner of the account to install the app: start again when it is installed')
  const installationId = chosen ?? Number(query.installation_id)
  if (!Number.isSafeInteger(installationId) || installationId < 1) throw invalid('GitHub named no installation')
  if (!code) {
    const next = await startAuthorization(ctx, { organizationId, clientId, installationId })
    const { oauth, clientId: app, redirectUrl } = userAuthorization(ctx)
    return oauth.authorizeUrl({ clientId: app, redirectUrl, state: next })
  }
  await linkInstallation(ctx, organization.id, await readInstallation(ctx, installationId, code))
  return `/app/${organization.name}/connections`
}

/** The authorization of persons by the app, which shows the installations that they may use. */
function userAuthorization(ctx: Ctx) {
  const { provider, httpUrl, clientId, clientSecret } = requireSettings(ctx)
  const oauth = hostOf(provider).oauth?.({ httpUrl, fetch: hostFetch(ctx, undefined) })
  if (!oauth) throw new Error(`${provider} has no OAuth`)
  return { oauth, clientId, clientSecret, redirectUrl: `${ctx.baseUrl}/github-app/setup` }
}

async function readInstallation(ctx: Ctx, installationId: number, code: string) {
  const { provider, httpUrl, apiUrl } = requireSettings(ctx)
  const { oauth, ...application } = userAuthorization(ctx)
  try {
    const app = requireGithubApp(ctx, { httpUrl, fetch: hostFetch(ctx, undefined) })
    const grant = await oauth.exchange({ ...application, code })
    if (!(await app.isOpenTo(grant.token, installationId)))
      throw forbidden('GitHub says that you may not use this installation: it takes access to all of its repositories')
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

/** Handles a report of GitHub about an installation: it was removed or suspended, or is usable again. */
export async function recordInstallation(ctx: Ctx, installationId: number, action: string) {
  const { httpUrl } = requireSettings(ctx)
  for (const { id } of await listLinked(ctx.db, { installationId, httpUrl })) {
    const connection = await loadInstallation(ctx, id)
    const change = CHANGES.get(action)
    if (change !== undefined) await recordRefused(ctx, connection, `the GitHub App was ${change} on GitHub`)
    else if (action === 'unsuspend') await recordAccepted(ctx, connection.row)
  }
}
