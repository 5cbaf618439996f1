import { createHash } from 'node:crypto'
import { createMessage, generateKey, sign } from 'openpgp'
import { beforeAll, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { put } from '../../../testing/runs.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const KEYS = '/api/registry/private/v2/gpg-keys'
const PROVIDERS = `/api/v2/organizations/${acme.name}/registry-providers`
/** The first bytes of a zip archive. */
const PACKAGE = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.from('an executable')])
const sum = (content: Buffer) => createHash('sha256').update(content).digest('hex')

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
async function send(method: Method, url: string, type?: string, attributes?: object, token = owner.token) {
  return app.request({ method, url, token, ...(type !== undefined && { body: { data: { type, attributes } } }) })
}

async function newKey() {
  return generateKey({ userIDs: [{ name: 'Acme', email: 'release@example.com' }], format: 'object' })
}
type KeyPair = Awaited<ReturnType<typeof newKey>>
let key: KeyPair
let keyId: string
beforeAll(async () => {
  key = await newKey()
  const added = await send('POST', KEYS, 'gpg-keys', { namespace: acme.name, 'ascii-armor': key.publicKey.armor() })
  keyId = added.json().data.attributes['key-id']
})

async function signature(content: Buffer, { privateKey }: KeyPair) {
  const message = await createMessage({ binary: content })
  return Buffer.from(await sign({ message, signingKeys: privateKey, detached: true, format: 'binary' }))
}

let count = 0
async function createVersion(signedWith = keyId, version = '1.0.0') {
  count += 1
  const name = `dummy${count}`
  const provider = { name, namespace: acme.name, 'registry-name': 'private' }
  expect((await send('POST', PROVIDERS, 'registry-providers', provider)).status).toBe(201)
  const path = `${PROVIDERS}/private/${acme.name}/${name}/versions`
  const attributes = { version, 'key-id': signedWith, protocols: ['5.0', '6.0'] }
  const response = await send('POST', path, 'registry-provider-versions', attributes)
  expect(response.status).toBe(201)
  const filename = `terraform-provider-${name}_${version}_linux_amd64.zip`
  return { name, path: `${path}/${version}`, links: response.json().data.links, filename }
}
type Created = Awaited<ReturnType<typeof createVersion>>

async function createPlatform({ path, filename }: Created, changes: object = {}) {
  const attributes = { os: 'linux', arch: 'amd64', shasum: sum(PACKAGE), filename, ...changes }
  return send('POST', `${path}/platforms`, 'registry-provider-platforms', attributes)
}

const sums = (filename: string, content = PACKAGE) => Buffer.from(`${sum(content)}  ${filename}\n`)

async function publish(version: Created) {
  const platform = (await createPlatform(version)).json().data
  const content = sums(version.filename)
  const statuses = [
    await put(app, version.links['shasums-sig-upload'], await signature(content, key)),
    await put(app, version.links['shasums-upload'], content),
    await put(app, platform.links['provider-binary-upload'], PACKAGE),
  ].map(({ status }) => status)
  expect(statuses).toEqual([200, 200, 200])
  return platform
}

async function engine(path: string, token: string | undefined = owner.token) {
  return app.request({ url: `/api/registry/v1/providers/${path}`, token })
}

test('a complete version is installed by the provider registry protocol', async () => {
  const version = await createVersion()
  const before = (await engine(`${acme.name}/${version.name}/versions`)).json()

  await publish(version)

  expect(before).toEqual({ versions: [] })
  expect((await engine(`${acme.name.toUpperCase()}/${version.name}/versions`)).json()).toEqual({
    versions: [{ version: '1.0.0', protocols: ['5.0', '6.0'], platforms: [{ os: 'linux', arch: 'amd64' }] }],
  })
  const found = (await engine(`${acme.name}/${version.name}/1.0.0/download/linux/amd64`)).json()
  expect(found).toMatchObject({ filename: version.filename, shasum: sum(PACKAGE), os: 'linux', arch: 'amd64' })
  expect(found.signing_keys.gpg_public_keys).toMatchObject([{ key_id: keyId, ascii_armor: key.publicKey.armor() }])
  expect((await app.request({ url: found.download_url })).bytes).toEqual(PACKAGE)
  expect((await app.request({ url: found.shasums_url })).bytes).toEqual(sums(version.filename))
  const { attributes, links } = (await send('GET', version.path)).json().data
  expect(attributes).toMatchObject({ 'shasums-uploaded': true, 'shasums-sig-uploaded': true, 'is-available': true })
  expect(Object.keys(links).toSorted()).toEqual(['self', 'shasums-download', 'shasums-sig-download'])
})

test('a signature with another key is rejected, naming both, and is not stored', async () => {
  const version = await createVersion()
  const other = await newKey()
  const content = sums(version.filename)
  await put(app, version.links['shasums-upload'], content)

  const refused = await put(app, version.links['shasums-sig-upload'], await signature(content, other))

  expect(refused.status).toBe(422)
  const otherId = other.publicKey.getKeyID().toHex().toUpperCase()
  expect(refused.json().errors[0].detail).toContain(otherId)
  expect(refused.json().errors[0].detail).toContain(keyId)
  expect((await send('GET', version.path)).json().data.attributes['shasums-sig-uploaded']).toBe(false)
  expect((await put(app, version.links['shasums-sig-upload'], await signature(content, key))).status).toBe(200)
})

test('a signature of other content and an unknown key are rejected', async () => {
  const version = await createVersion()
  const unknown = await createVersion('0123456789ABCDEF')
  const content = sums(version.filename)
  for (const { links } of [version, unknown]) await put(app, links['shasums-upload'], content)
  const forged = await signature(Buffer.from('other'), key)

  const responses = [
    await put(app, version.links['shasums-sig-upload'], forged),
    await put(app, unknown.links['shasums-sig-upload'], await signature(content, key)),
    await put(app, version.links['shasums-sig-upload'], Buffer.from('nothing')),
    await put(app, version.links['shasums-sig-upload'], Buffer.from('-----BEGIN PGP SIGNATURE-----')),
  ]

  expect(responses.map(({ status }) => status)).toEqual([422, 422, 422, 422])
  const details = responses.map((response) => response.json().errors[0].detail)
  expect(details[0]).toContain('does not match SHA256SUMS')
  expect(details[1]).toContain('has no GPG key 0123456789ABCDEF')
  expect(details[2]).toContain('cannot be read')
  expect(details[3]).toContain('without --armor')
})

test('an archive with another SHA-256 is rejected, and nothing of it is kept', async () => {
  const version = await createVersion()
  const { id, links } = (await createPlatform(version)).json().data

  const refused = await put(app, links['provider-binary-upload'], Buffer.from('PK\u0003\u0004 other'))
  const notZip = (
    await createPlatform(version, { os: 'darwin', filename: 'x.zip', shasum: sum(Buffer.from('x')) })
  ).json()
  const odd = await put(app, notZip.data.links['provider-binary-upload'], Buffer.from('x'))

  expect([refused.status, odd.status]).toEqual([422, 422])
  expect(refused.json().errors[0].detail).toContain(sum(PACKAGE))
  expect(odd.json().errors[0].detail).toContain('not a zip archive')
  let kept = 0
  for await (const { keys } of app.blobs.list(`provider-packages/${id}/`)) kept += keys.length
  expect(kept).toBe(0)
})

test('an archive that is too large is rejected before it is read', async () => {
  const version = await createVersion()
  const { links } = (await createPlatform(version)).json().data

  const refused = await app.request({
    method: 'PUT',
    url: links['provider-binary-upload'],
    body: PACKAGE,
    headers: { 'content-length': String(100 * 1024 ** 3) },
  })

  expect(refused.status).toBe(413)
})

test('a published file never changes, and may be sent again', async () => {
  const version = await createVersion()
  const platform = await publish(version)
  const upload = platform.links['provider-binary-upload']

  const statuses = [
    await put(app, upload, PACKAGE),
    await put(app, upload, Buffer.from('PK\u0003\u0004 other')),
    await put(app, version.links['shasums-upload'], sums(version.filename)),
    await put(app, version.links['shasums-upload'], sums(version.filename, Buffer.from('other'))),
  ].map(({ status }) => status)

  expect(statuses).toEqual([200, 409, 200, 409])
})

test('the platforms and SHA256SUMS agree, whichever comes first', async () => {
  const [first, second] = [await createVersion(), await createVersion()]
  await createPlatform(first)
  await put(app, second.links['shasums-upload'], sums(second.filename))

  const responses = [
    await put(app, first.links['shasums-upload'], sums('another.zip')),
    await createPlatform(second, { filename: 'another.zip' }),
    await createPlatform(second, { shasum: sum(Buffer.from('other')) }),
    await put(app, first.links['shasums-upload'], Buffer.from('no checksums')),
  ]

  expect(responses.map(({ status }) => status)).toEqual([422, 422, 422, 422])
  const errors = responses.map((response) => response.json().errors[0])
  expect(errors[0].detail).toContain(`SHA256SUMS has no ${first.filename}`)
  expect(errors[1].source).toEqual({ pointer: '/data/attributes/filename' })
  expect(errors[2].source).toEqual({ pointer: '/data/attributes/shasum' })
  expect(errors[3].detail).toContain('line 1 of SHA256SUMS')
})

test('invalid versions and taken ones are rejected', async () => {
  const { path } = await createVersion()
  const versions = path.slice(0, path.lastIndexOf('/'))
  const create = async (version: string) =>
    send('POST', versions, 'registry-provider-versions', { version, 'key-id': keyId })

  const responses = [await create('v1'), await create('1.0'), await create('01.0.0'), await create('1.0.0')]

  expect(responses.map(({ status }) => status)).toEqual([422, 422, 422, 422])
  for (const response of responses) expect(response.json().errors[0].source.pointer).toBe('/data/attributes/version')
})

test('keys are checked, and one that signs versions is not deleted', async () => {
  const add = async (armor: string) => send('POST', KEYS, 'gpg-keys', { namespace: acme.name, 'ascii-armor': armor })
  const [free, expired] = [
    await newKey(),
    await generateKey({
      userIDs: [{ name: 'x' }],
      date: new Date('2020-01-01'),
      keyExpirationTime: 60,
      format: 'object',
    }),
  ]
  const version = await createVersion()

  const added = await add(free.publicKey.armor())
  const freeId = added.json().data.attributes['key-id']
  const responses = [
    await add('nothing'),
    await add(free.privateKey.armor()),
    await add(expired.publicKey.armor()),
    await add(free.publicKey.armor()),
  ]
  const used = await send('DELETE', `${KEYS}/${acme.name}/${keyId}`)
  const deleted = await send('DELETE', `${KEYS}/${acme.name}/${freeId.toLowerCase()}`)

  expect(responses.map(({ status }) => status)).toEqual([422, 422, 422, 422])
  const details = responses.map((response) => response.json().errors[0].detail)
  expect(details.map((text, index) => [/public key/, /private key/, /expired at/, /taken/][index]?.test(text))).toEqual(
    [true, true, true, true],
  )
  expect([used.status, deleted.status]).toEqual([409, 204])
  expect(used.json().errors[0].detail).toContain(`${version.name} 1.0.0`)
})

test('members install providers but publish none, and strangers see nothing', async () => {
  const version = await createVersion()
  await publish(version)
  const member = await createUser(app)
  await addMember(app, acme.id, member)
  const stranger = await createUser(app)
  const provider = { name: 'mine', namespace: acme.name, 'registry-name': 'private' }

  const statuses = [
    await engine(`${acme.name}/${version.name}/versions`, member.token),
    await send('POST', PROVIDERS, 'registry-providers', provider, member.token),
    await engine(`${acme.name}/${version.name}/versions`, stranger.token),
    await send('GET', version.path, undefined, undefined, stranger.token),
  ].map(({ status }) => status)
  const shown = await send('GET', version.path, undefined, undefined, member.token)

  expect(statuses).toEqual([200, 403, 404, 404])
  expect(shown.json().data.attributes.permissions).toEqual({ 'can-delete': false, 'can-upload-asset': false })
})

test('a file of very many signatures is rejected', async () => {
  const version = await createVersion()
  const content = sums(version.filename)
  await put(app, version.links['shasums-upload'], content)
  const one = await signature(content, key)

  const refused = await put(app, version.links['shasums-sig-upload'], Buffer.concat(Array(11).fill(one)))

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toContain('has 11 signatures; it may have up to 10')
})
