import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type ReceivedRequest, startFakeHost } from '../testing/fake-host.ts'
import { createGithubApp } from './app.ts'
import { SHA, repository } from './testing/bodies.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
// GitHub issues keys in this format.
const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()

const TOKEN = 'POST /app/installations/5/access_tokens'

function installation(id: number, login: string, changes: Record<string, unknown> = {}) {
  return {
    id,
    account: { login, id: 9919, avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`, type: 'Organization' },
    repository_selection: 'selected',
    access_tokens_url: `https://api.github.com/app/installations/${id}/access_tokens`,
    html_url: `https://github.com/organizations/${login}/settings/installations/${id}`,
    app_id: 29310,
    app_slug: 'groundstate',
    target_id: 9919,
    target_type: 'Organization',
    permissions: { contents: 'read', metadata: 'read', pull_requests: 'write', repository_hooks: 'write' },
    events: [],
    created_at: '2026-11-20T09:00:00Z',
    updated_at: '2026-11-20T09:00:00Z',
    suspended_at: null,
    ...changes,
  }
}

/** The app that signed the request, by the public key. */
function signer({ headers }: ReceivedRequest) {
  const [, jwt = ''] = /^bearer (.+)$/i.exec(headers.authorization ?? '') ?? []
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const isValid = createVerify('RSA-SHA256')
    .update(`${header}.${payload}`)
    .verify(createPublicKey(privateKey), signature, 'base64url')
  return isValid ? (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iss: unknown }).iss : undefined
}

async function createApp(routes: Parameters<typeof startFakeHost>[0]) {
  const host = await startFakeHost({
    'GET /app/installations/5': () => ({ body: installation(5, 'acme') }),
    [TOKEN]: () => ({
      status: 201,
      body: {
        token: 'ghs_installation',
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        permissions: { contents: 'read', metadata: 'read' },
        repository_selection: 'selected',
      },
    }),
    ...routes,
  })
  return { host, app: createGithubApp({ appId: '29310', privateKey: pem, apiUrl: host.url, fetch }) }
}

describe('installations', () => {
  test('are listed by the app itself, without suspended ones', async () => {
    const { host, app } = await createApp({
      'GET /app/installations': () => ({
        body: [installation(5, 'acme'), installation(6, 'umbrella', { suspended_at: '2026-11-21T00:00:00Z' })],
      }),
    })

    expect(await app.listInstallations()).toEqual([
      {
        installationId: 5,
        name: 'acme',
        iconUrl: 'https://avatars.githubusercontent.com/u/5?v=4',
        type: 'Organization',
        url: 'https://github.com/organizations/acme/settings/installations/5',
      },
    ])
    expect(host.requests.map(signer)).toEqual(['29310'])
  })

  test('are found by id', async () => {
    const { app } = await createApp({})

    expect(await app.findInstallation(5)).toMatchObject({ name: 'acme' })
    expect(await app.findInstallation(7)).toBeUndefined()
  })
})

describe('the token of an installation', () => {
  test('is requested by the app, once', async () => {
    const { host, app } = await createApp({})

    expect(await app.installationToken(5)).toBe('ghs_installation')
    expect(await app.installationToken(5)).toBe('ghs_installation')
    expect(host.requests.map((request) => [request.route, signer(request)])).toEqual([[TOKEN, '29310']])
  })

  test.each([
    ['was removed', 404, 'Not Found'],
    ['was suspended', 403, 'This installation has been suspended'],
  ])('is refused if it %s', async (_, status, message) => {
    const { app } = await createApp({ [TOKEN]: () => ({ status, body: { message } }) })

    await expect(app.installationToken(5)).rejects.toMatchObject({
      name: 'HostError',
      kind: 'unauthorised',
      message: 'the installation 5 of the GitHub App was removed or suspended',
    })
  })

  test('is requested once by concurrent requests', async () => {
    const { host, app } = await createApp({ 'GET /repos/acme/network': () => ({ body: repository() }) })
    const api = app.api(5)

    await Promise.all(Array.from({ length: 20 }, async () => api.findRepository('acme/network')))

    expect(host.asked().filter((route) => route === TOKEN)).toHaveLength(1)
  })

  test('is requested again after a response that has none', async () => {
    const replies = [{ body: '<html>' }, { status: 201, body: { token: 'ghs_second' } }]
    const { app } = await createApp({ [TOKEN]: () => replies.shift() ?? {} })

    await expect(app.installationToken(5)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await app.installationToken(5)).toBe('ghs_second')
  })

  test('needs the private key of the app, which no error shows', async () => {
    const host = await startFakeHost({})
    const app = createGithubApp({ appId: '29310', privateKey: 'not-a-key', apiUrl: host.url, fetch })

    const error: unknown = await app.installationToken(5).catch((error: unknown) => error)

    expect(error).toMatchObject({ kind: 'unauthorised' })
    expect(inspect(error, { depth: 10 })).not.toContain('not-a-key')
    expect(host.requests).toEqual([])
  })

  test('is not available while the host is not', async () => {
    const { app } = await createApp({ [TOKEN]: () => ({ status: 502, body: '<html>' }) })

    await expect(app.api(5).findRepository('acme/network')).rejects.toMatchObject({ kind: 'unavailable' })
  })
})

describe('the API of an installation', () => {
  test('lists the repositories of the installation, and its account', async () => {
    const { host, app } = await createApp({
      'GET /installation/repositories': () => ({
        body: { total_count: 2, repositories: [repository(), repository('acme/dns')] },
      }),
    })
    const api = app.api(5)

    const { rows, nextPage } = await api.listRepositories({ query: 'net', page: 1, size: 20 })

    expect(rows.map(({ identifier }) => identifier)).toEqual(['acme/network'])
    expect(nextPage).toBeNull()
    expect(host.requests.at(-1)?.headers.authorization).toBe('token ghs_installation')
    expect(await api.readUser()).toBe('acme')
    expect(await api.listOwners()).toEqual(['acme'])
  })

  test('sets statuses with the token of the installation', async () => {
    const route = `POST /repos/acme/network/statuses/${SHA.pushed}`
    const { host, app } = await createApp({ [route]: () => ({ status: 201, body: { id: 1 } }) })
    const status = {
      context: 'groundstate',
      state: 'success',
      description: 'applied',
      url: 'https://x.example',
    } as const

    await app.api(5).setStatus('acme/network', SHA.pushed, status)

    expect(host.requests.at(-1)?.headers.authorization).toBe('token ghs_installation')
  })

  test('gets a new token if GitHub has revoked the one it has, once', async () => {
    const issued = ['ghs_revoked', 'ghs_valid', 'ghs_unused']
    let accepted = 'ghs_valid'
    const { app } = await createApp({
      [TOKEN]: () => ({ status: 201, body: { token: issued.shift() } }),
      'GET /repos/acme/network': ({ headers }) =>
        headers.authorization === `token ${accepted}` ? { body: repository() } : { status: 401, body: {} },
    })
    const api = app.api(5)

    expect(await api.findRepository('acme/network')).toMatchObject({ identifier: 'acme/network' })
    accepted = 'none'
    await expect(api.findRepository('acme/network')).rejects.toMatchObject({ kind: 'unauthorised' })
    expect(issued).toEqual([])
  })
})
