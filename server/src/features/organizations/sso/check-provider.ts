import {
  SIGN_IN_CHECKS,
  type SignInCheck,
  type SignInInput,
  type SignInTest,
} from '@groundstate/contract/sign-in-settings'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import { randomText } from '../../../ids.ts'
import { OutboundError } from '../../../outbound/outbound.ts'
import type { Provider } from '../../identity/sessions/sign-in-settings.ts'
import { redirectUri, sendToProvider } from './provider.ts'
import { requireDraftProvider } from './trials.ts'

const discoveryDocument = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: z.url().optional(),
  token_endpoint: z.url().optional(),
  jwks_uri: z.url().optional(),
  response_types_supported: z.array(z.string()).optional(),
  scopes_supported: z.array(z.string()).optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
})
type Discovery = z.infer<typeof discoveryDocument>
const keySet = z.looseObject({ keys: z.array(z.looseObject({ use: z.string().optional() })) })

type Outcome = Pick<SignInTest['checks'][number], 'status' | 'detail' | 'advice'>

const passed = (detail: string): Outcome => ({ status: 'passed', detail, advice: null })
const warning = (detail: string, advice: string): Outcome => ({ status: 'warning', detail, advice })
const failed = (detail: string, advice: string): Outcome => ({ status: 'failed', detail, advice })

/** Checks the settings with the changes in `input` against the provider, without saving anything. */
export async function testSignIn(ctx: Ctx, input: SignInInput): Promise<SignInTest> {
  checkSiteAdmin(ctx)
  const provider = await requireDraftProvider(ctx, input)
  const outcomes = new Map<SignInCheck, Outcome>()
  const send = sendToProvider(ctx, provider)
  const loaded = await loadJson(send, discoveryUrl(provider), discoveryDocument)
  if (loaded.document === undefined) {
    outcomes.set(
      'discovery',
      failed(
        `${discoveryUrl(provider)}: ${loaded.problem}`,
        'Check the issuer for typing errors and that this server can reach the provider. A private certificate authority is trusted with NODE_EXTRA_CA_CERTS.',
      ),
    )
  } else {
    const { document } = loaded
    outcomes.set('discovery', discoveryOutcome(provider))
    outcomes.set('issuer', issuerOutcome(provider, document))
    outcomes.set('endpoints', endpointsOutcome(provider, document))
    const checks = {
      keys: () => checkKeys(send, document),
      'redirect-uri': () => checkRedirectUri(ctx, { send, provider, document }),
      client: () => checkClient(ctx, { send, provider, document }),
    } as const
    for (const [name, check] of Object.entries(checks)) {
      outcomes.set(name as SignInCheck, await check().catch(requestFailed))
    }
  }
  const skipped: Outcome = { status: 'skipped', detail: 'not checked', advice: null }
  const checks = SIGN_IN_CHECKS.map((name) => ({ name, ...(outcomes.get(name) ?? skipped) }))
  return { passed: checks.every(({ status }) => status !== 'failed' && status !== 'skipped'), checks }
}

type Send = ReturnType<typeof sendToProvider>
type Checked = { send: Send; provider: Provider; document: Discovery }

function discoveryUrl({ issuer }: Provider) {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

async function loadJson<T>(send: Send, url: string, schema: z.ZodType<T>) {
  try {
    const response = await send(url, { method: 'GET', headers: { accept: 'application/json' } })
    if (response.status !== 200) return { problem: `the response has the status ${response.status}` }
    const parsed = schema.safeParse(JSON.parse(await response.text()))
    if (parsed.success) return { document: parsed.data }
    const [issue] = parsed.error.issues
    return { problem: `the document is not as expected at ${issue?.path.join('.')}: ${issue?.message}` }
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'the response is not JSON' }
    if (error instanceof OutboundError) return { problem: error.message }
    throw error
  }
}

function requestFailed(error: unknown): Outcome {
  if (!(error instanceof OutboundError)) throw error
  return failed(error.message, 'Check that this server can reach the endpoints of the provider.')
}

function discoveryOutcome(provider: Provider) {
  const url = discoveryUrl(provider)
  if (url.startsWith('https:')) return passed(`${url} describes the provider.`)
  return warning(
    `${url} describes the provider, without encryption.`,
    'Use https unless the provider runs on this machine: anyone on the network path could sign in as any user.',
  )
}

function issuerOutcome({ issuer }: Provider, document: Discovery) {
  // `URL` adds a slash to an origin, and users often forget or add one.
  if (new URL(issuer).href === URL.parse(document.issuer)?.href) return passed(`The issuer is ${document.issuer}.`)
  return failed(
    `The provider calls itself ${document.issuer}, but the issuer is set to ${issuer}.`,
    `Set the issuer to ${document.issuer}.`,
  )
}

function endpointsOutcome({ scopes }: Provider, document: Discovery) {
  const missing = (['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const).filter((name) => !document[name])
  if (missing.length > 0)
    return failed(`The provider offers no ${missing.join(' and no ')}.`, 'Use a provider that supports OpenID Connect.')
  const { response_types_supported: types, code_challenge_methods_supported: challenges } = document
  if (types && !types.includes('code'))
    return failed(
      'The provider does not support the authorization code flow.',
      'Enable the standard flow of the provider.',
    )
  const unknown = scopes.split(/\s+/).filter((scope) => document.scopes_supported?.includes(scope) === false)
  if (unknown.length > 0) {
    return warning(
      `The provider does not list the scope ${unknown.join(', ')}.`,
      'Remove it from the scopes, or add it at the provider; some providers do not list all that they accept.',
    )
  }
  if (challenges && !challenges.includes('S256'))
    return warning('The provider does not list PKCE with S256.', 'Enable PKCE for the client if sign-in fails.')
  return passed('Authorization, token and key endpoints are present, and the scopes are offered.')
}

async function checkKeys(send: Send, { jwks_uri: url }: Discovery): Promise<Outcome> {
  const advice = 'Ask the operator of the provider: without its keys no sign-in can be verified.'
  if (url === undefined) return failed('The provider publishes no keys.', advice)
  const loaded = await loadJson(send, url, keySet)
  if (loaded.document === undefined) return failed(`${url}: ${loaded.problem}`, advice)
  const signing = loaded.document.keys.filter(({ use }) => use === undefined || use === 'sig')
  if (signing.length === 0) return failed(`${url} has no key for signatures.`, advice)
  return passed(`${signing.length} ${signing.length === 1 ? 'key' : 'keys'} for signatures.`)
}

/** Errors of a provider that knows the client and its redirect URI, and would now ask the user. */
const PROMPTS = new Set(['login_required', 'interaction_required', 'consent_required', 'account_selection_required'])

/** Asks for a sign-in without interaction: only a registered redirect URI gets the refusal. */
async function checkRedirectUri(ctx: Ctx, { send, provider, document }: Checked): Promise<Outcome> {
  const { authorization_endpoint: endpoint } = document
  if (endpoint === undefined) return failed('There is no authorization endpoint.', 'See above.')
  const uri = redirectUri(ctx)
  const advice = `Register the redirect URI ${uri} for the client ${provider.clientId} at the provider.`
  const url = new URL(endpoint)
  const query = {
    client_id: provider.clientId,
    redirect_uri: uri,
    response_type: 'code',
    scope: provider.scopes,
    prompt: 'none',
    state: randomText(20),
    nonce: randomText(20),
    code_challenge: randomText(43),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const response = await send(url.href, { method: 'GET', headers: { accept: 'text/html' } })
  const location = response.headers.get('location')
  const target = location === null ? null : URL.parse(location, endpoint)
  if (target?.href.startsWith(uri)) {
    const error = target.searchParams.get('error')
    if (error === null || PROMPTS.has(error)) return passed(`The provider accepts ${uri}.`)
    const description = target.searchParams.get('error_description')
    return failed(`The provider rejects sign-ins: ${[error, description].filter(Boolean).join(': ')}.`, advice)
  }
  if (response.status >= 400) return failed(`The provider rejects the client or ${uri} (${response.status}).`, advice)
  return warning(`The provider does not show whether it accepts ${uri}.`, `A trial sign-in shows it. ${advice}`)
}

/** Exchanges a made-up code: the provider rejects a wrong secret before the code. */
async function checkClient(ctx: Ctx, { send, provider, document }: Checked): Promise<Outcome> {
  const { token_endpoint: endpoint, token_endpoint_auth_methods_supported: methods } = document
  if (endpoint === undefined) return failed('There is no token endpoint.', 'See above.')
  const { clientId, clientSecret } = provider
  const isBasic = clientSecret !== undefined && (!methods || methods.includes('client_secret_basic'))
  const credentials = [clientId, clientSecret ?? ''].map(encodeURIComponent).join(':')
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: randomText(20),
    redirect_uri: redirectUri(ctx),
    code_verifier: randomText(43),
    ...(!isBasic && { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }),
  })
  const response = await send(endpoint, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(isBasic && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    body: body.toString(),
  })
  const { error, error_description: description } = await errorOf(response)
  if (error === 'invalid_grant')
    return passed(clientSecret === undefined ? 'The provider knows the client.' : 'The provider accepts the secret.')
  const shown = [error, description].filter(Boolean).join(': ')
  if (error === 'invalid_client' || error === 'unauthorized_client') {
    return failed(
      `The provider rejects the client: ${shown}.`,
      clientSecret === undefined
        ? 'Check the client ID, and enter the client secret unless the client is public.'
        : 'Check the client ID and enter the client secret again; it may have expired.',
    )
  }
  return warning(
    `The provider does not show whether it accepts the client (${shown === '' ? response.status : shown}).`,
    'A trial sign-in shows it.',
  )
}

const errorBody = z.looseObject({ error: z.string().optional(), error_description: z.string().optional() })

async function errorOf(response: Response): Promise<z.infer<typeof errorBody>> {
  const text = await response.text()
  try {
    return errorBody.safeParse(JSON.parse(text)).data ?? {}
  } catch {
    return {}
  }
}
