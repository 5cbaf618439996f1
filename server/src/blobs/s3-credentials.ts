import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf } from '@groundstate/agent/process/errors'
import { messageOf } from '../error-code.ts'
import { innermostError } from '../outbound/failure.ts'
import { childrenOf, parseResponse, textOf } from './xml.ts'

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined }

/** A role that a file with a token of another issuer may assume, as Kubernetes mounts one into a pod. */
export type WebIdentity = { roleArn: string; tokenFile: string; sessionName: string; stsEndpoint: string }

/** An endpoint on the host that hands out credentials, as EKS Pod Identity and ECS have one. `token` or the content of `tokenFile` authorises. */
export type ContainerIdentity = { url: string; token?: string | undefined; tokenFile?: string | undefined }

export type CredentialProvider = {
  /** Describes the identity in messages; contains no secret. */
  name: string
  /** Valid credentials. Throws a `CredentialsError`. */
  current: () => Promise<Credentials>
  /** Credentials to use instead of `rejected`, which the store did not accept; undefined if there are none. Throws a `CredentialsError`. */
  renew: (rejected: Credentials) => Promise<Credentials | undefined>
}

/** `advice` names the settings of the identity. */
export class CredentialsError extends Error {
  override name = 'CredentialsError'
  readonly advice: string
  constructor(message: string, { advice, cause }: { advice: string; cause?: unknown }) {
    super(message, { cause })
    this.advice = advice
  }
}

type Issued = { credentials: Credentials; expiresAt: number }
type Clock = { now?: () => number }

const RESPONSE_TIMEOUT_MS = 5000
const ATTEMPTS = 3
const BACKOFF_MS = 200
/** Credentials are replaced this long before they expire, or at three quarters of a shorter life, in ms. */
const RENEWED_BEFORE_MS = 300_000
/** Pause after a failed renewal, and minimum age of credentials that are replaced because the store rejected them, in ms. */
const RETRY_MS = 30_000

export function staticCredentials(credentials: Credentials): CredentialProvider {
  return { name: 'access keys', current: async () => credentials, renew: async () => undefined }
}

/** Credentials of a role, from the service STS. The token is read for each request, since Kubernetes replaces it. */
export function webIdentityCredentials(identity: WebIdentity, clock: Clock = {}): CredentialProvider {
  return expiring(`the role ${identity.roleArn}`, () => assumeRole(identity), clock)
}

/** Credentials from the endpoint of a container. The token is read for each request. */
export function containerCredentials(identity: ContainerIdentity, clock: Clock = {}): CredentialProvider {
  return expiring(`the identity of the container at ${identity.url}`, () => askContainer(identity), clock)
}

/** Caches credentials. While they are valid, they are renewed in the background, so that no request waits or fails with the issuer. */
function expiring(name: string, issue: () => Promise<Issued>, { now = Date.now }: Clock): CredentialProvider {
  let held: (Issued & { issuedAt: number; renewAt: number }) | undefined
  let pending: Promise<Credentials> | undefined
  let retryAt = 0

  const request = () =>
    (pending ??= (async () => {
      try {
        const issued = await issue()
        const issuedAt = now()
        const margin = Math.min(RENEWED_BEFORE_MS, (issued.expiresAt - issuedAt) / 4)
        held = { ...issued, issuedAt, renewAt: issued.expiresAt - margin }
        return issued.credentials
      } catch (error) {
        retryAt = now() + RETRY_MS
        throw error
      } finally {
        pending = undefined
      }
    })())

  return {
    name,
    async current() {
      const at = now()
      if (!held || at >= held.expiresAt) return request()
      if (at >= held.renewAt && at >= retryAt) void request().catch(() => {})
      return held.credentials
    },
    async renew(rejected) {
      if (held && held.credentials !== rejected) return held.credentials
      // A store may also reject a request for another reason that its response does not tell.
      if (held && now() - held.issuedAt < RETRY_MS) return undefined
      return request()
    },
  }
}

async function assumeRole({ roleArn, tokenFile, sessionName, stsEndpoint }: WebIdentity): Promise<Issued> {
  const name = `can't assume the role ${roleArn} with the web identity token ${tokenFile}`
  const advice = 'check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the trust policy of the role'
  const text = await retried(name, advice, async () => {
    const body = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      WebIdentityToken: await readToken(tokenFile),
    })
    return fetch(stsEndpoint, { ...REQUEST, method: 'POST', body, signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) })
  })
  const [result] = childrenOf(parseResponse(text), 'AssumeRoleWithWebIdentityResult')
  const [issued] = childrenOf(result, 'Credentials')
  const fields = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'].map((field) => textOf(issued, field))
  return requireComplete(fields, `${name}: the response of ${stsEndpoint} has no credentials`, advice)
}

async function askContainer({ url, token, tokenFile }: ContainerIdentity): Promise<Issued> {
  const name = `can't get credentials from ${url}${tokenFile === undefined ? '' : ` with the token ${tokenFile}`}`
  const advice = 'check AWS_CONTAINER_CREDENTIALS_FULL_URI and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'
  const text = await retried(name, advice, async () => {
    const authorization = tokenFile === undefined ? token : await readToken(tokenFile)
    const headers = { ...(authorization !== undefined && { authorization }) }
    return fetch(url, { ...REQUEST, headers, signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) })
  })
  const issued = parseJson(text)
  const fields = ['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'].map((field) => issued[field])
  return requireComplete(fields, `${name}: the response has no credentials`, advice)
}

const REQUEST = { redirect: 'error' } as const

/** The body of a successful response. Failed connections and statuses that may pass are retried. Throws a `CredentialsError`. */
async function retried(name: string, advice: string, send: () => Promise<Response>): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const failed = (reason: string, cause?: unknown) => new CredentialsError(`${name}: ${reason}`, { advice, cause })
    const { text, error, mayPass } = await send()
      .then(async (response) => {
        const text = await response.text()
        if (response.ok) return { text, error: undefined, mayPass: false }
        const mayPass = response.status >= 500 || response.status === 429 || text.includes('IDPCommunicationError')
        return { text: '', error: failed(`${response.status} ${problemOf(text)}`.trimEnd()), mayPass }
      })
      .catch((cause: unknown) => {
        if (cause instanceof TokenError) return { text: '', error: failed(cause.message, cause), mayPass: false }
        return { text: '', error: failed(messageOf(innermostError(cause)), cause), mayPass: true }
      })
    if (error === undefined) return text
    if (!mayPass || attempt === ATTEMPTS) throw error
    await delay(BACKOFF_MS * 2 ** (attempt - 1))
  }
}

class TokenError extends Error {}

async function readToken(path: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new TokenError(`the file can't be read: ${reasonOf(error)}`)
  })
  if (text.trim() === '') throw new TokenError('the file is empty')
  return text.trim()
}

const MAX_PROBLEM = 500

/** The code and message of an error of STS or a container; responses without them are not shown. */
function problemOf(text: string) {
  const [error] = childrenOf(parseResponse(text), 'Error')
  const { code = textOf(error, 'Code'), message = textOf(error, 'Message') } = parseJson(text)
  const known = [code, message].filter((part) => typeof part === 'string')
  return known.join(': ').slice(0, MAX_PROBLEM)
}

function parseJson(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function requireComplete(fields: readonly unknown[], problem: string, advice: string): Issued {
  const [accessKeyId, secretAccessKey, sessionToken, expiration] = fields.map((field) =>
    typeof field === 'string' ? field.trim() : '',
  )
  const expiresAt = Date.parse(expiration ?? '')
  if (!accessKeyId || !secretAccessKey || Number.isNaN(expiresAt)) throw new CredentialsError(problem, { advice })
  return { credentials: { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined }, expiresAt }
}
