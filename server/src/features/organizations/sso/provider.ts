import * as oidc from 'openid-client'
import type { Ctx } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import { notFound, unavailable } from '../../../errors.ts'

/** The metadata of the provider is loaded again after this many ms. */
const FRESH_MS = 60 * 60_000

type Found = { configuration: Promise<oidc.Configuration>; at: number }
const found = new WeakMap<Config, Found>()

/** The client of the configured provider. Throws `not-found` when there is none, `unavailable` when it can't be reached. */
export async function requireProvider(ctx: Ctx): Promise<oidc.Configuration> {
  const { config } = ctx
  if (config.oidcIssuer === undefined) throw notFound('sign-on')
  const now = ctx.now().getTime()
  let known = found.get(config)
  if (!known || now - known.at > FRESH_MS) {
    known = { configuration: discover(config, config.oidcIssuer), at: now }
    found.set(config, known)
  }
  try {
    return await known.configuration
  } catch (error) {
    found.delete(config)
    ctx.log.error({ err: error }, 'the OpenID Connect provider')
    throw unavailable(`the identity provider at ${config.oidcIssuer.href} can't be reached`, 5000)
  }
}

async function discover(config: Config, issuer: URL) {
  const { oidcClientId: id = '', oidcClientSecret: secret } = config
  const execute = [oidc.enableNonRepudiationChecks]
  // Only the operator of the server can choose this: a provider on the same machine or network.
  if (issuer.protocol === 'http:') execute.push(oidc.allowInsecureRequests)
  const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret)
  const configuration = await oidc.discovery(issuer, id, undefined, authentication, { execute })
  const methods = configuration.serverMetadata().token_endpoint_auth_methods_supported
  if (secret === undefined || !methods || methods.includes('client_secret_basic')) return configuration
  const posting = new oidc.Configuration(configuration.serverMetadata(), id, undefined, oidc.ClientSecretPost(secret))
  for (const option of execute) option(posting)
  return posting
}
