import { readText } from '@groundstate/agent/settings/setting'
import type { Ctx } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import { type GithubApp, createGithubApp } from '../../../vcs-hosts/github/app.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'

/** The GitHub App of this server, by its settings. */
export type AppSettings = Record<
  'httpUrl' | 'apiUrl' | 'slug' | 'clientId' | 'clientSecret' | 'webhookSecret',
  string
> & {
  provider: 'github' | 'github_enterprise'
}

/** Undefined if the server has no GitHub App. */
export function githubAppSettings({ config }: Pick<Ctx, 'config'>): AppSettings | undefined {
  const { githubAppUrl: url, githubAppId: id, githubAppSlug: slug = '', githubAppWebhookSecret = '' } = config
  if (id === undefined) return undefined
  const { hostname } = new URL(url)
  const provider = hostname === 'github.com' || hostname.endsWith('.ghe.com') ? 'github' : 'github_enterprise'
  return {
    provider,
    httpUrl: url,
    apiUrl: hostOf(provider).addresses(url)?.apiUrl ?? url,
    slug,
    clientId: config.githubAppClientId ?? '',
    clientSecret: config.githubAppClientSecret ?? '',
    webhookSecret: githubAppWebhookSecret,
  }
}

/** One for each configuration, since it keeps the tokens of installations. */
const apps = new WeakMap<Config, GithubApp>()

/** Throws a `HostError` unless the server has a GitHub App on the host. */
export function requireGithubApp(ctx: Ctx, { httpUrl, fetch }: { httpUrl: string; fetch: typeof globalThis.fetch }) {
  const { config } = ctx
  const settings = githubAppSettings(ctx)
  if (settings?.httpUrl !== httpUrl || config.githubAppId === undefined)
    throw new HostError('forbidden', `this server has no GitHub App for ${httpUrl}: its administrator can set one up`)
  const known = apps.get(config)
  if (known) return known
  const { githubAppPrivateKey: key, githubAppPrivateKeyFile: file = '' } = config
  const privateKey = key ?? readText('GROUNDSTATE_GITHUB_APP_PRIVATE_KEY_FILE', file)
  const app = createGithubApp({ appId: config.githubAppId, privateKey, apiUrl: settings.apiUrl, fetch })
  apps.set(config, app)
  return app
}
