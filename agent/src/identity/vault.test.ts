import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../testing/certificate.ts'
import { readBody } from '../testing/workspace-api.ts'
import { type VaultCredential, logIntoVault } from './vault.ts'

type Answer = { status?: number; body?: object; never?: boolean; times?: number }
type Received = { path: string; token: unknown; namespace: unknown; body: unknown }

const AUTH = { auth: { client_token: 'hvs.secret', renewable: true, lease_duration: 1200 } }

/** A server that answers as Vault does; `answer` replaces answers by path. */
async function startVault(answer: Record<string, Answer> = {}, tls?: { cert: string; key: string }) {
  const received: Received[] = []
  const listeners = new Set<() => void>()
  const server = tls === undefined ? createServer() : createTlsServer(tls)
  server.on('request', (request, response) => void respond(request, response))

  async function respond(request: IncomingMessage, response: ServerResponse) {
    const text = await readBody(request)
    const path = String(request.url)
    const { 'x-vault-token': token, 'x-vault-namespace': namespace } = request.headers
    const own = answer[path]
    const earlier = received.filter((request) => request.path === path).length
    const isUsed = own?.times === undefined || earlier < own.times
    const { status = 200, body = AUTH, never = false } = (isUsed ? own : undefined) ?? {}
    received.push({ path, token, namespace, body: JSON.parse(text.toString()) })
    for (const listener of listeners) listener()
    if (!never) response.writeHead(status).end(JSON.stringify(body))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return {
    address: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    received,
    /** Resolves when this many requests have arrived. */
    requests: async (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => received.length >= count && resolve()
        listeners.add(check)
        check()
      }),
  }
}

function credential(address: string, more: Partial<VaultCredential> = {}): VaultCredential {
  const optional = { tag: undefined, namespace: undefined, caCertificate: undefined }
  const common = { provider: 'vault', audience: 'a', role: 'runs', authPath: 'jwt', timeoutMs: 60_000 } as const
  return { ...optional, ...common, address, ...more }
}

function login(to: VaultCredential, more: { certificates?: string; signal?: AbortSignal } = {}) {
  const warnings: string[] = []
  const site = {
    certificates: undefined,
    signal: new AbortController().signal,
    warn: (text: string) => void warnings.push(text),
  }
  return { warnings, result: logIntoVault(to, 'the.jwt', { ...site, ...more }) }
}

describe('a login to Vault', () => {
  test('exchanges the token of the run, and revokes that of Vault at the end', async () => {
    const vault = await startVault()
    const { result, warnings } = login(credential(vault.address, { namespace: 'admin/team', authPath: 'oidc/runs' }))

    const { token, [Symbol.asyncDispose]: end } = await result
    await end()

    expect(token).toBe('hvs.secret')
    expect(vault.received).toEqual([
      {
        path: '/v1/auth/oidc/runs/login',
        token: undefined,
        namespace: 'admin/team',
        body: { role: 'runs', jwt: 'the.jwt' },
      },
      { path: '/v1/auth/token/revoke-self', token: 'hvs.secret', namespace: 'admin/team', body: {} },
    ])
    expect(warnings).toEqual([])
  })

  test('is renewed after half of its lease', async () => {
    const short = { auth: { ...AUTH.auth, lease_duration: 2 } }
    const vault = await startVault({ '/v1/auth/jwt/login': { body: short } })

    await using secret = await login(credential(vault.address)).result
    await vault.requests(2)

    expect(secret.token).toBe('hvs.secret')
    expect(vault.received[1]).toMatchObject({ path: '/v1/auth/token/renew-self', token: 'hvs.secret' })
  })

  test('is renewed again after a failure, until it expires', async () => {
    const short = { auth: { ...AUTH.auth, lease_duration: 1 } }
    const vault = await startVault({
      '/v1/auth/jwt/login': { body: short },
      '/v1/auth/token/renew-self': { status: 503, body: {}, times: 1 },
    })
    const { result, warnings } = login(credential(vault.address))

    await using secret = await result
    await vault.requests(3)

    expect(secret.token).toBe('hvs.secret')
    expect(vault.received.slice(1).map(({ path }) => path)).toEqual(Array(2).fill('/v1/auth/token/renew-self'))
    expect(warnings).toEqual([])
  })

  test('is repeated while Vault is not ready', async () => {
    const vault = await startVault({ '/v1/auth/jwt/login': { status: 503, body: { errors: ['sealed'] }, times: 2 } })

    await using secret = await login(credential(vault.address)).result

    expect(secret.token).toBe('hvs.secret')
    expect(vault.received).toHaveLength(3)
  })

  test('that is refused reports the reason, but not the token', async () => {
    const body = { errors: ['error validating token the.jwt: audience claim does not match'] }
    const vault = await startVault({ '/v1/auth/jwt/login': { status: 400, body } })

    await expect(login(credential(vault.address, { tag: 'EU' })).result).rejects.toThrow(
      'the login to Vault for the tag EU failed: it responded with 400: error validating token (token): audience claim does not match',
    )
  })

  test.each([
    ['without a token', { body: { data: {} } }, 'its response has no token'],
    ['that is no JSON object', { status: 503, body: [] as object }, 'it responded with 503'],
  ])('with a response %s fails', async (_name, answer, reason) => {
    const vault = await startVault({ '/v1/auth/jwt/login': answer })

    await expect(login(credential(vault.address)).result).rejects.toThrow(`the login to Vault failed: ${reason}`)
  })

  test('that takes too long fails', async () => {
    const vault = await startVault({ '/v1/auth/jwt/login': { never: true } })

    await expect(login(credential(vault.address, { timeoutMs: 100 })).result).rejects.toThrow('timeout')
  })

  test('ends with its run', async () => {
    const vault = await startVault({ '/v1/auth/jwt/login': { never: true } })
    const stop = new AbortController()
    const { result } = login(credential(vault.address), { signal: stop.signal })
    const failure = result.catch(String)
    await vault.requests(1)

    stop.abort(new Error('canceled by a user'))

    expect(await failure).toBe('Error: canceled by a user')
  })

  test('whose token cannot be revoked leaves a warning', async () => {
    const body = { errors: ['permission denied'] }
    const vault = await startVault({ '/v1/auth/token/revoke-self': { status: 403, body } })
    const { result, warnings } = login(credential(vault.address))

    const { [Symbol.asyncDispose]: end } = await result
    await end()

    expect(warnings).toEqual([
      'the token of Vault could not be revoked, and is valid until it expires: it responded with 403: permission denied',
    ])
  })

  test('trusts the certificate of the workspace, and that of the agent', async () => {
    const own = await makeCertificate('IP:127.0.0.1')
    const vault = await startVault({}, own)

    await expect(login(credential(vault.address)).result).rejects.toThrow('self-signed certificate')
    await using byWorkspace = await login(credential(vault.address, { caCertificate: own.cert })).result
    await using byAgent = await login(credential(vault.address), { certificates: own.file }).result

    expect([byWorkspace.token, byAgent.token]).toEqual(['hvs.secret', 'hvs.secret'])
  })
})
