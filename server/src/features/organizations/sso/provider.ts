import type { FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import type { Config } from '../../../config.ts'
import { notFound, unauthorized, unavailable } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import { failureReason } from '../../../outbound/failure.ts'
import { OutboundError } from '../../../outbound/outbound.ts'
import { shortLivedContext } from '../../../secrets/sealed.ts'
import { SealError } from '../../../secrets/secrets.ts'
import { type Provider, readSignInSettings } from '../../identity/sessions/sign-in-settings.ts'

/** The address to which the provider sends users back; registered there. */
export function redirectUri({ baseUrl }: Ctx) {
  return `${baseUrl}/auth/oidc/callback`
}

/** Lifetime of the provider's metadata. */
const METADATA_TTL_MS = 60 * 60_000

export type ProviderClient = { provider: Provider; configuration: oidc.Configuration }

type Cached = { key: string; configuration: Promise<oidc.Configuration>; loadedAt: number }
const clients = new WeakMap<Config, Cached>()

/** The client of the provider in effect. Throws `not-found` if there is none, `unavailable` if it can't be reached. */
export async function requireProvider(ctx: Ctx): Promise<ProviderClient> {
  const { provider } = await readSignInSettings(ctx)
  if (!provider) throw notFound('sign-on')
  const { config } = ctx
  const now = ctx.now().getTime()
  const key = JSON.stringify(provider)
  let client = clients.get(config)
  if (!client || client.key !== key || now - client.loadedAt > METADATA_TTL_MS) {
    client = { key, configuration: discover(ctx, provider), loadedAt: now }
    clients.set(config, client)
  }
  try {
    return { provider, configuration: await client.configuration }
  } catch (error) {
    clients.delete(config)
    throw unreachable(ctx, provider, error)
  }
}

/** As `requireProvider`, for settings that are not in effect. */
export async function connectProvider(ctx: Ctx, provider: Provider): Promise<ProviderClient> {
  try {
    return { provider, configuration: await discover(ctx, provider) }
  } catch (error) {
    throw unreachable(ctx, provider, error)
  }
}

function unreachable(ctx: Ctx, { issuer }: Provider, error: unknown) {
  ctx.log.error({ err: error }, 'cannot load the metadata of the OpenID Connect provider')
  return unavailable(`the identity provider at ${issuer} can't be reached`, 5000)
}

async function discover(ctx: Ctx, provider: Provider) {
  const { clientId, clientSecret: secret, isFromEnvironment } = provider
  const issuer = new URL(provider.issuer)
  const execute = [oidc.enableNonRepudiationChecks]
  // A provider on the same machine or network. `outbound` decides which addresses may be called if the operator has not chosen it.
  if (issuer.protocol === 'http:') execute.push(oidc.allowInsecureRequests)
  const custom = isFromEnvironment ? {} : { [oidc.customFetch]: guardedFetch(ctx) }
  const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret)
  const configuration = await oidc.discovery(issuer, clientId, undefined, authentication, { ...custom, execute })
  const methods = configuration.serverMetadata().token_endpoint_auth_methods_supported
  if (secret === undefined || !methods || methods.includes('client_secret_basic')) return configuration
  const metadata = configuration.serverMetadata()
  const posting = new oidc.Configuration(metadata, clientId, undefined, oidc.ClientSecretPost(secret))
  if (!isFromEnvironment) posting[oidc.customFetch] = guardedFetch(ctx)
  for (const option of execute) option(posting)
  return posting
}

type Send = (
  url: string,
  options: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string | null },
) => Promise<Response>

/** Sends requests to the provider, within the rules for addresses that its source allows. Throws an `OutboundError` without a response. */
export function sendToProvider(ctx: Ctx, { isFromEnvironment }: Provider): Send {
  if (!isFromEnvironment) return async (url, options) => ctx.outbound.fetch(url, options)
  return async (url, options) => {
    try {
      return await fetch(url, { ...options, redirect: 'manual', signal: AbortSignal.timeout(10_000) })
    } catch (error) {
      throw new OutboundError(failureReason(error))
    }
  }
}

function guardedFetch(ctx: Ctx): oidc.CustomFetch {
  return async (url, { method, headers, body }) =>
    ctx.outbound.fetch(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : null,
    })
}

/** The reason in an error of the client, for the user; undefined for a bug. */
export function refusalReason(error: unknown): string | undefined {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError)
    return [error.error, error.error_description].filter((text) => text !== undefined).join(': ')
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    // The token endpoint asks for credentials of the client, all others for an access token.
    const isClient = error.cause.some(({ scheme }) => scheme === 'basic')
    return isClient ? 'the client ID or the client secret is wrong' : error.message
  }
  if (!(error instanceof oidc.ClientError)) return undefined
  return error.cause instanceof OutboundError ? error.cause.message : error.message
}

/** Time limit for the sign-in at the provider, in s. */
const LIFE_SECONDS = 15 * 60
const COOKIE = 'groundstate_sso'
const CONTEXT = shortLivedContext('sso/pending')

const pendingSignOn = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  /** Id of the trial that this sign-in is, with its settings. */
  trial: z.string().optional(),
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
