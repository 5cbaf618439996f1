import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, createRemoteJWKSet, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { atEnd } from '../server/src/testing/cleanup.ts'

/** The principals that trust a workspace: their audience, and a pattern of the subject, with at most one `*` for any text. `now` is the time of their clock. */
export type Trust = { issuer: string; audience: string; subject: string; now?: Date }

/** Names of the principals that the stand-ins have. */
export const ROLE_ARN = 'arn:aws:iam::123456789012:role/runs'
export const POOL_PROVIDER = 'projects/42/locations/global/workloadIdentityPools/pool/providers/runs'
export const SERVICE_ACCOUNT = 'runs@project.iam.gserviceaccount.com'
export const TENANT_ID = '10000000-0000-0000-0000-000000000000'
export const CLIENT_ID = '11111111-2222-3333-4444-555555555555'
export const VAULT_ROLE = 'runs'
export const HCP_RESOURCE = 'iam/project/p1/service-principal/runs/workload-identity-provider/groundstate'

export type Services = 'aws' | 'gcp' | 'azure' | 'vault' | 'kubernetes' | 'hcp'

/** Why a service refuses a token. */
class Refused extends Error {
  status: number
  code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

type Request = { path: string; form: URLSearchParams; json: any; bearer: string; header: (name: string) => string }

/**
 * Servers that exchange tokens as the services do, and check the same: they know nothing but the issuer, read its two documents, and verify
 * signature, key, times, audience and subject. `trust` may change between requests.
 */
export async function startStandIns(trust: Record<Services, Trust>) {
  const issued = new Map<string, { service: Services; subject: string }>()
  let sequence = 0
  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo

  async function respond(request: IncomingMessage, response: ServerResponse) {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const header = (name: string) => String(request.headers[name] ?? '')
    const isJson = header('content-type').startsWith('application/json')
    const path = new URL(request.url ?? '', 'http://local').pathname
    const form = new URLSearchParams(isJson ? '' : body)
    const json = isJson ? JSON.parse(body) : {}
    const bearer = header('authorization').replace(/^Bearer /, '')
    try {
      const [, service = ''] = path.split('/')
      const route = ROUTES[service]
      if (route === undefined) throw new Refused(404, 'NotFound', path)
      const { type = 'application/json', text } = await route({ path, form, json, bearer, header })
      response.writeHead(200, { 'content-type': type }).end(text)
    } catch (error) {
      const refused = error instanceof Refused ? error : new Refused(500, 'Bug', String(error))
      const text = path.startsWith('/vault')
        ? JSON.stringify({ errors: [refused.message] })
        : JSON.stringify({ error: refused.code, error_description: refused.message })
      response.writeHead(refused.status, { 'content-type': 'application/json' }).end(text)
    }
  }

  function issue(service: Services, subject: string) {
    sequence += 1
    const token = `${service}-credential-${sequence}`
    issued.set(token, { service, subject })
    return token
  }

  const ROUTES: Record<string, (request: Request) => Promise<{ type?: string; text: string }>> = {
    // https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
    async aws({ form }) {
      const [role, session = '', token = ''] = ['RoleArn', 'RoleSessionName', 'WebIdentityToken'].map(
        (name) => form.get(name) ?? '',
      )
      if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('Version') !== '2011-06-15')
        throw new Refused(400, 'InvalidAction', 'another action')
      if (!/^[\w+=,.@-]{2,64}$/.test(session)) throw new Refused(400, 'ValidationError', `session ${session}`)
      const { sub } = await verified('aws', token)
      if (role !== ROLE_ARN) throw new Refused(403, 'AccessDenied', 'not authorized to perform the action')
      const key = issue('aws', String(sub))
      const fields = `<AccessKeyId>${key}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>`
      const result = `<Credentials>${fields}</Credentials><SubjectFromWebIdentityToken>${sub}</SubjectFromWebIdentityToken>`
      const response = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>${result}</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
      return { type: 'text/xml', text: response }
    },

    // https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token, and generateAccessToken of a service account
    async gcp({ path, form, json, bearer }) {
      if (path === '/gcp/v1/token') {
        const read = (name: string): string => form.get(name) ?? json[name] ?? ''
        if (read('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange')
          throw new Refused(400, 'unsupported_grant_type', 'another grant')
        if (read('subject_token_type') !== 'urn:ietf:params:oauth:token-type:jwt')
          throw new Refused(400, 'invalid_request', 'another type of token')
        if (read('audience') !== `//iam.googleapis.com/${POOL_PROVIDER}`)
          throw new Refused(
            400,
            'invalid_target',
            'The target service indicated by the "audience" parameters is invalid.',
          )
        const { sub } = await verified('gcp', read('subject_token'))
        return {
          text: JSON.stringify({ access_token: issue('gcp', String(sub)), token_type: 'Bearer', expires_in: 3600 }),
        }
      }
      if (path !== `/gcp/v1/projects/-/serviceAccounts/${SERVICE_ACCOUNT}:generateAccessToken`)
        throw new Refused(404, 'NOT_FOUND', path)
      const caller = issued.get(bearer)
      if (caller?.service !== 'gcp') throw new Refused(401, 'UNAUTHENTICATED', 'no federated token')
      return { text: JSON.stringify({ accessToken: issue('gcp', caller.subject), expireTime: '2100-01-01T00:00:00Z' }) }
    },

    // https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow#third-case-access-token-request-with-a-federated-credential
    async azure({ path, form }) {
      if (path !== `/azure/${TENANT_ID}/oauth2/v2.0/token`) throw new Refused(400, 'invalid_tenant', path)
      if (form.get('grant_type') !== 'client_credentials')
        throw new Refused(400, 'unsupported_grant_type', 'another grant')
      if (form.get('client_assertion_type') !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
        throw new Refused(400, 'invalid_request', 'another type of assertion')
      if (form.get('client_id') !== CLIENT_ID)
        throw new Refused(400, 'unauthorized_client', 'AADSTS700016: no application')
      const { sub } = await verified('azure', form.get('client_assertion') ?? '')
      return {
        text: JSON.stringify({ access_token: issue('azure', String(sub)), token_type: 'Bearer', expires_in: 3600 }),
      }
    },

    // https://developer.hashicorp.com/vault/api-docs/auth/jwt#jwt-login
    async vault({ path, json, header }) {
      const own = issued.get(header('x-vault-token'))
      const respondWith = (token: string) => ({
        text: JSON.stringify({ auth: { client_token: token, renewable: true, lease_duration: 1200 } }),
      })
      if (path === '/vault/v1/auth/jwt/login') {
        if (json.role !== VAULT_ROLE) throw new Refused(400, 'role', `role "${json.role}" could not be found`)
        const { sub } = await verified('vault', json.jwt)
        return respondWith(issue('vault', String(sub)))
      }
      if (own?.service !== 'vault') throw new Refused(403, 'denied', 'permission denied')
      if (path === '/vault/v1/auth/token/lookup-self')
        return { text: JSON.stringify({ data: { subject: own.subject } }) }
      if (path === '/vault/v1/auth/token/renew-self') return respondWith(header('x-vault-token'))
      if (path !== '/vault/v1/auth/token/revoke-self') throw new Refused(404, 'path', 'unsupported path')
      issued.delete(header('x-vault-token'))
      return { text: '{}' }
    },

    // https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens
    async kubernetes({ bearer }) {
      const { sub } = await verified('kubernetes', bearer)
      return { text: JSON.stringify({ kind: 'SelfSubjectReview', status: { userInfo: { username: sub } } }) }
    },

    async hcp({ path, json }) {
      if (path !== `/hcp/2019-12-10/${HCP_RESOURCE}/exchange-token`) throw new Refused(404, 'resource', path)
      const { sub } = await verified('hcp', json.jwt_token)
      return { text: JSON.stringify({ access_token: issue('hcp', String(sub)) }) }
    },
  }

  /** Verifies a token with nothing but the issuer's documents, and then against the trust policy. */
  async function verified(service: Services, token: string): Promise<JWTPayload> {
    const { issuer, audience, subject, now: currentDate = new Date() } = trust[service]
    const discovery: any = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
    if (discovery.issuer !== issuer) throw new Refused(400, 'InvalidIdentityToken', 'the issuer has another name')
    const refuse = (reason: string) => {
      throw new Refused(service === 'aws' ? 403 : 400, 'InvalidIdentityToken', reason)
    }
    try {
      if (decodeProtectedHeader(token).kid === undefined) refuse('the token names no key')
      const keys = createRemoteJWKSet(new URL(discovery.jwks_uri))
      const algorithms = discovery.id_token_signing_alg_values_supported
      const requiredClaims = ['exp', 'iat', 'nbf', 'jti', 'sub']
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        requiredClaims,
        typ: 'JWT',
        currentDate,
      })
      const [start = '', end] = subject.split('*')
      const { sub = '' } = payload
      const isTrusted = end === undefined ? sub === start : sub.startsWith(start) && sub.endsWith(end)
      if (!isTrusted) refuse(`no policy trusts the subject ${payload.sub}`)
      return payload
    } catch (error) {
      if (error instanceof errors.JOSEError) refuse(`${error.code}: ${error.message}`)
      throw error
    }
  }

  return {
    url: `http://127.0.0.1:${port}`,
    trust,
    /** The credentials that were issued and not revoked, without their numbers. */
    issued: () => [...issued.values()],
  }
}
