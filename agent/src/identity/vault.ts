import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Credential } from '@groundstate/contract/workload-identity'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import { z } from 'zod'
import { messageOf } from '../process/errors.ts'
import { isLocal } from '../process/relay.ts'
import { knownAuthorities, parseJson } from '../server/connection.ts'

export type VaultCredential = Extract<Credential, { provider: 'vault' }>

/** A token is renewed after half of its remaining time, within these limits, in ms. */
const MIN_RENEW_MS = 100
const MAX_RENEW_MS = 3_600_000
/** Delays before a login is repeated that found Vault unavailable, in ms. */
const RETRY_DELAYS_MS = [200, 1_000]
/** The end of a phase waits at most this long for Vault, in ms. */
const REVOKE_TIMEOUT_MS = 5_000
const MAX_ERROR_CHARACTERS = 500
const MAX_RESPONSE_BYTES = 1024 * 1024

const authentication = z.object({
  auth: z.object({ client_token: z.string().min(1), renewable: z.boolean(), lease_duration: z.number() }),
})
const failure = z.object({ errors: z.array(z.string()) })

/** Vault could not be reached, or is not ready: a later attempt may succeed. */
class Unavailable extends Error {
  override name = 'Unavailable'
}

type VaultSite = {
  /** A PEM file of authorities to trust in place of the default ones. */
  certificates: string | undefined
  signal: AbortSignal
  /** Receives a sentence. */
  warn: (text: string) => void
}

/** A token of Vault, which is renewed until it is disposed, and then revoked. */
export type VaultLogin = AsyncDisposable & { token: string }

/** Exchanges an identity token for one of Vault. Throws with the reason that Vault gives. */
export async function logIntoVault(credential: VaultCredential, jwt: string, site: VaultSite): Promise<VaultLogin> {
  const { role, authPath, timeoutMs } = credential
  const dispatcher = dispatcherFor(credential, site.certificates)
  let timer: NodeJS.Timeout | undefined
  const where = `Vault${credential.tag === undefined ? '' : ` for the tag ${credential.tag}`}`

  async function post(path: string, body: object, token: string | undefined, signal: AbortSignal) {
    const response = await request(`${credential.address}/v1/auth/${path}`, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-vault-request': 'true',
        ...(credential.namespace !== undefined && { 'x-vault-namespace': credential.namespace }),
        ...(token !== undefined && { 'x-vault-token': token }),
      },
      body: JSON.stringify(body),
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw new Unavailable(messageOf(error), { cause: error })
    })
    const text = await response.body.text()
    const { statusCode } = response
    if (statusCode >= 200 && statusCode < 300) return parseJson(text)
    const reasons = failure.safeParse(parseJson(text)).data?.errors.join('; ') ?? ''
    const detail = reasons.slice(0, MAX_ERROR_CHARACTERS).replaceAll(jwt, '(token)')
    const message = `it responded with ${statusCode}${detail === '' ? '' : `: ${detail}`}`
    throw statusCode >= 500 || statusCode === 429 ? new Unavailable(message) : new Error(message)
  }

  async function login(signal: AbortSignal) {
    for (const waitMs of RETRY_DELAYS_MS) {
      try {
        return await post(`${authPath}/login`, { role, jwt }, undefined, signal)
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
      }
      await delay(waitMs, undefined, { signal })
    }
    return post(`${authPath}/login`, { role, jwt }, undefined, signal)
  }

  function renewLater(token: string, endsAt: number) {
    const waitMs = Math.min(Math.max((endsAt - performance.now()) / 2, MIN_RENEW_MS), MAX_RENEW_MS)
    timer = setTimeout(() => void renew(token, endsAt), waitMs)
  }

  /** Repeats a failed renewal until the token expires. */
  async function renew(token: string, endsAt: number) {
    const renewed = await post('token/renew-self', {}, token, AbortSignal.timeout(timeoutMs)).catch(
      (error: unknown) => {
        if (timer === undefined || endsAt - performance.now() > 2 * MIN_RENEW_MS) return undefined
        site.warn(`the token of ${where} could not be renewed, and expires: ${messageOf(error)}`)
        timer = undefined
      },
    )
    // The phase may have ended.
    if (timer === undefined) return
    const seconds = authentication.safeParse(renewed).data?.auth.lease_duration
    if (seconds === undefined) renewLater(token, endsAt)
    else if (seconds > 0) renewLater(token, performance.now() + seconds * 1000)
  }

  try {
    const signal = AbortSignal.any([site.signal, AbortSignal.timeout(timeoutMs)])
    const { data } = authentication.safeParse(await login(signal))
    if (data === undefined) throw new Error('its response has no token')
    const { client_token: token, renewable, lease_duration: seconds } = data.auth
    if (renewable && seconds > 0) renewLater(token, performance.now() + seconds * 1000)
    return {
      token,
      async [Symbol.asyncDispose]() {
        clearTimeout(timer)
        timer = undefined
        try {
          await post('token/revoke-self', {}, token, AbortSignal.timeout(REVOKE_TIMEOUT_MS))
        } catch (error) {
          site.warn(`the token of ${where} could not be revoked, and is valid until it expires: ${messageOf(error)}`)
        }
        await dispatcher.destroy().catch(() => {})
      },
    }
  } catch (error) {
    await dispatcher.destroy()
    site.signal.throwIfAborted()
    throw new Error(`the login to ${where} failed: ${messageOf(error)}`, { cause: error })
  }
}

function dispatcherFor({ address, caCertificate }: VaultCredential, certificates: string | undefined): Dispatcher {
  const shared = certificates === undefined ? undefined : readFileSync(certificates, 'utf8')
  const ca =
    caCertificate === undefined ? shared : [...(shared === undefined ? knownAuthorities() : [shared]), caCertificate]
  const trust = ca === undefined ? {} : { ca }
  const options = { connect: { timeout: 10_000, ...trust }, maxResponseSize: MAX_RESPONSE_BYTES }
  return isLocal(address)
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, requestTls: trust, proxyTls: trust })
}
