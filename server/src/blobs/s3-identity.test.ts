import { randomBytes } from 'node:crypto'
import dns from 'node:dns'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../config.ts'
import { configuredStore } from './blob-store.ts'
import { createBlobs } from './blobs.ts'
import { BlobStoreUnavailableError } from './errors.ts'
import { containerCredentials, webIdentityCredentials } from './s3-credentials.ts'
import { openS3Driver } from './s3.ts'
import { createIdentityServer } from './testing/identity-server.ts'
import { createS3Server } from './testing/s3-server.ts'

const MB = 1024 * 1024
const MINUTE = 60_000
const secret = randomBytes(32)
const ROLE = 'arn:aws:iam::111122223333:role/groundstate'

async function newStore(options: Parameters<typeof createS3Server>[0] = {}) {
  const server = await createS3Server(options)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

/** A store whose keys a role gets for the token in a file. Time moves only with `clock`. */
async function newSite() {
  const clock = { at: Date.now(), now: () => clock.at }
  const store = await newStore({ now: clock.now })
  const sts = await createIdentityServer(store, { now: clock.now })
  const tokenFile = join(inject('directory'), `token-${randomBytes(4).toString('hex')}`)
  await writeFile(tokenFile, `${sts.token}\n`)
  const identity = { roleArn: ROLE, tokenFile, sessionName: 'groundstate', stsEndpoint: sts.url }
  const credentials = webIdentityCredentials(identity, clock)
  const blobs = await createBlobs({ secret, store: { kind: 's3', ...store.config, credentials } })
  return { clock, store, sts, tokenFile, blobs }
}

test.each([
  { addressing: 'path', path: '/object/store' },
  { addressing: 'virtual-host', path: '' },
  { addressing: 'virtual-host', path: '/object/store' },
] as const)(
  'a bucket is addressed by $addressing at an endpoint with the path "$path"',
  async ({ addressing, path }) => {
    // The resolver of this machine may not know names below localhost.
    const lookup = vi.spyOn(dns, 'lookup')
    lookup.mockImplementation(((_: string, options: dns.LookupAllOptions, callback: Function) =>
      options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)) as never)
    onTestFinished(() => lookup.mockRestore())
    const server = await newStore({ addressing, path, host: 's3.example', region: 'eu-central-1' })
    const blobs = await createBlobs({ secret, store: { kind: 's3', ...server.config, prefix: 'ground state/' } })

    await blobs.put('runs/a', Buffer.from('small'))
    await blobs.put('runs/b', Buffer.from('other'))

    expect((await blobs.read('runs/a')).toString()).toBe('small')
    for await (const { keys } of blobs.list('runs/')) expect(keys).toEqual(['runs/a', 'runs/b'])
    expect(server.requests).toHaveLength(6)
  },
)

test('a role is assumed once for concurrent requests, with the token of the file', async () => {
  const { sts, blobs } = await newSite()

  await Promise.all(['a', 'b', 'c'].map(async (key) => blobs.put(key, Buffer.from(key))))

  expect((await blobs.read('b')).toString()).toBe('b')
  expect(sts.requests.map((form) => Object.fromEntries(form))).toEqual([
    {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: ROLE,
      RoleSessionName: 'groundstate',
      WebIdentityToken: 'first-token',
    },
  ])
})

test('credentials are renewed before they expire, with the current token', async () => {
  const { clock, store, sts, tokenFile, blobs } = await newSite()
  await blobs.put('a', Buffer.from('a'))
  sts.token = 'second-token'
  await writeFile(tokenFile, sts.token)

  clock.at += 56 * MINUTE
  await blobs.put('b', Buffer.from('b'))
  clock.at += 5 * MINUTE
  const sent = store.requests.length
  await blobs.put('c', Buffer.from('c'))

  expect(sts.requests.map((form) => form.get('WebIdentityToken'))).toEqual(['first-token', 'second-token'])
  expect(store.requests.slice(sent)).toEqual(['HEAD /blobs/c', 'PUT /blobs/c'])
})

test('credentials that expire during a multipart upload are replaced', async () => {
  const { clock, store, sts, blobs } = await newSite()
  const content = randomBytes(34 * MB)
  async function* source() {
    yield content.subarray(0, 17 * MB)
    clock.at += MINUTE
    // The store forgets the key early, as after a revocation of its session.
    for (const key of store.keys.values()) key.expiresAt = clock.at
    yield content.subarray(17 * MB)
  }

  await blobs.put('large', source(), { compress: false })

  expect((await blobs.read('large')).equals(content)).toBe(true)
  expect(sts.issued).toBe(2)
  expect(store.uploads.size).toBe(0)
})

test('valid credentials are used as long as the issuer fails, and it is asked rarely', async () => {
  const { clock, sts, blobs } = await newSite()
  await blobs.put('a', Buffer.from('a'))
  sts.refusals.push({ status: 403, code: 'AccessDenied', message: 'later' })

  clock.at += 56 * MINUTE
  for (const key of ['b', 'c', 'd']) await blobs.put(key, Buffer.from(key))

  expect(sts.requests).toHaveLength(2)
})

test('a refused role is reported with the reason, and without the token', async () => {
  const { sts, blobs, tokenFile } = await newSite()
  const message = 'Not authorized to perform sts:AssumeRoleWithWebIdentity'
  sts.refusals.push(
    { status: 503, code: 'ServiceUnavailable', message: 'later' },
    { status: 403, code: 'AccessDenied', message },
  )

  const refused = blobs.put('a', Buffer.from('a'))

  await expect(refused).rejects.toThrow(
    `can't assume the role ${ROLE} with the web identity token ${tokenFile}: 403 AccessDenied: ${message}`,
  )
  await expect(refused).rejects.not.toThrow('first-token')
  expect(sts.requests).toHaveLength(2)
})

test('a token file that is missing or empty is reported', async () => {
  const { blobs, tokenFile } = await newSite()

  await writeFile(tokenFile, '')
  await expect(blobs.stat('a')).rejects.toThrow(`token ${tokenFile}: the file is empty`)
  await rm(tokenFile)
  await expect(blobs.stat('a')).rejects.toThrow(`token ${tokenFile}: the file can't be read: there is no such file`)
})

test('the endpoint of a container issues credentials', async () => {
  const store = await newStore()
  const issuer = await createIdentityServer(store)
  const credentials = containerCredentials({ url: `${issuer.url}/container`, token: 'first-token' })
  const blobs = await createBlobs({ secret, store: { kind: 's3', ...store.config, credentials } })

  await blobs.put('a', Buffer.from('a'))

  expect((await blobs.read('a')).toString()).toBe('a')
  expect(issuer.issued).toBe(1)
})

test('static keys may have a session token', async () => {
  const store = await newStore()
  store.keys.set('temporary', { secretAccessKey: 's', sessionToken: 't/+=' })
  const config = readConfig({
    GROUNDSTATE_S3_BUCKET: store.config.bucket,
    GROUNDSTATE_S3_ENDPOINT: store.config.endpoint,
    GROUNDSTATE_S3_ACCESS_KEY_ID: 'temporary',
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: 's',
    GROUNDSTATE_S3_SESSION_TOKEN: 't/+=',
  })
  const blobs = await createBlobs({ secret, store: configuredStore(config) })

  await blobs.put('a', Buffer.from('a'))

  expect(store.objects.size).toBe(1)
})

const BUCKET = { GROUNDSTATE_S3_BUCKET: 'b', AWS_REGION: 'eu-central-1' }

test.each([
  [{ GROUNDSTATE_S3_ACCESS_KEY_ID: 'a', GROUNDSTATE_S3_SECRET_ACCESS_KEY: 'b' }, 'access keys'],
  [{ AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: '/t' }, `the role ${ROLE}`],
  [
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' },
    'the identity of the container at http://169.254.170.23/v1/credentials',
  ],
  [
    { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' },
    'the identity of the container at http://169.254.170.2/v2/credentials/1',
  ],
])('settings determine the identity: %o', (settings, name) => {
  const store = configuredStore(readConfig({ ...BUCKET, ...settings }))

  expect(store).toMatchObject({ endpoint: 'https://s3.eu-central-1.amazonaws.com', credentials: { name } })
})

test.each([
  [{}, 'there are no credentials for it; set GROUNDSTATE_S3_ACCESS_KEY_ID'],
  [{ GROUNDSTATE_S3_ACCESS_KEY_ID: 'a' }, 'GROUNDSTATE_S3_SECRET_ACCESS_KEY: both must be set'],
  [{ AWS_ROLE_ARN: ROLE }, 'AWS_WEB_IDENTITY_TOKEN_FILE: both must be set'],
  [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://example.com/' }, 'without TLS, it must be on this host'],
  [{ GROUNDSTATE_S3_ADDRESSING: 'virtual-host', GROUNDSTATE_S3_ENDPOINT: 'http://[::1]:9000' }, 'has no host name'],
])('incomplete settings are refused: %o', (settings, message) => {
  expect(() => configuredStore(readConfig({ ...BUCKET, ...settings }))).toThrow(message)
})

test('a store that stays unavailable is reported, even if it has just refused credentials', async () => {
  const statuses = [503, 503, 503, 503, 403]
  const server = createServer((_, response) => {
    const status = statuses.shift() ?? 503
    response.writeHead(status).end(status === 403 ? '<Error><Code>ExpiredToken</Code></Error>' : '')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const keys = { accessKeyId: 'a', secretAccessKey: 'b' }
  const credentials = { name: 'a role', current: async () => keys, renew: async () => ({ ...keys, accessKeyId: 'c' }) }
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await using driver = openS3Driver({ endpoint, bucket: 'bucket', region: 'us-east-1', credentials })

  await expect(driver.stat('states/a')).rejects.toThrow(BlobStoreUnavailableError)
  expect(statuses).toEqual([])
})
