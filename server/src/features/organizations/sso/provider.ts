import type { FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import { notFound, unauthorized, unavailable } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import { SealError } from '../../../secrets/secrets.ts'

/** Lifetime of the provider's metadata. */
const METADATA_TTL_MS = 60 * 60_000

type Client = { configuration: Promise<oidc.Configuration>; loadedAt: number }
const clients = new WeakMap<Config, Client>()

/** The client of the provider. Throws `not-found` if none is configured, `unavailable` if it can't be reached. */
export async function requireProvider(ctx: Ctx): Promise<oidc.Configuration> {
  const { config } = ctx
  if (config.oidcIssuer === undefined) throw notFound('sign-on')
  const now = ctx.now().getTime()
  let client = clients.get(config)
  if (!client || now - client.loadedAt > METADATA_TTL_MS) {
    client = { configuration: discover(config, config.oidcIssuer), loadedAt: now }
    clients.set(config, client)
  }
  try {
    return await client.configuration
  } catch (error) {
    clients.delete(config)
    ctx.log.error({ err: error }, 'cannot load the metadata of the OpenID Connect provider')
    throw unavailable(`the identity provider at ${config.oidcIssuer.href} can't be reached`, 5000)
  }
}

async function discover(config: Config, issuer: URL) {
  const { oidcClientId: id = '', oidcClientSecret: secret } = config
  const execute = [oidc.enableNonRepudiationChecks]
  // Only the operator can configure this: a provider on the same machine or network.
  if (issuer.protocol === 'http:') execute.push(oidc.allowInsecureRequests)
  const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret)
  const configuration = await oidc.discovery(issuer, id, undefined, authentication, { execute })
  const methods = configuration.serverMetadata().token_endpoint_auth_methods_supported
  if (secret === undefined || !methods || methods.includes('client_secret_basic')) return configuration
  const posting = new oidc.Configuration(configuration.serverMetadata(), id, undefined, oidc.ClientSecretPost(secret))
  for (const option of execute) option(posting)
  return posting
}

/** Time limit for the sign-in at the provider, in s. */
const LIFE_SECONDS = 15 * 60
const COOKIE = 'groundstate_sso'
const CONTEXT = 'sso/pending'

const pendingSignOn = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  expiresAt: z.number(),
})
/** State of a sign-in at the provider, encrypted in the browser so that any replica can continue. */
export type PendingSignOn = z.infer<typeof pendingSignOn>

export function pendingCookie(ctx: Ctx, pending: Omit<PendingSignOn, 'expiresAt'>) {
  const expiresAt = ctx.now().getTime() + LIFE_SECONDS * 1000
  const sealed = ctx.secrets.seal(JSON.stringify({ ...pending, expiresAt }), CONTEXT)
  return cookie(ctx, sealed.toString('base64url'), LIFE_SECONDS)
}

export function endedPendingCookie(ctx: Ctx) {
  return cookie(ctx, '', 0)
}

/** Lax, since the provider redirects the browser to us. */
function cookie(ctx: Ctx, value: string, maxAge: number) {
  const secure = ctx.baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${COOKIE}=${value}; Path=${basePath(ctx.baseUrl)}/auth/oidc; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`
}

/** Throws `unauthorized` without a sign-in started in this browser, or after the time limit. */
export function requirePending(ctx: Ctx, request: FastifyRequest): PendingSignOn {
  const value = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]+)`).exec(request.headers.cookie ?? '')?.[1]
  const pending = value === undefined ? undefined : open(ctx, value)
  if (!pending || pending.expiresAt <= ctx.now().getTime()) {
    throw unauthorized('the sign-in has expired or was started in another browser: start again')
  }
  return pending
}

function open(ctx: Ctx, value: string) {
  try {
    return pendingSignOn.parse(JSON.parse(ctx.secrets.openText(Buffer.from(value, 'base64url'), CONTEXT)))
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
