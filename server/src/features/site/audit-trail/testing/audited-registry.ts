import { createHash } from 'node:crypto'
import { generateKey } from 'openpgp'
import { EMPTY_ARCHIVE } from '../../../../testing/runs.ts'
import { type AuditFixtures, data, type MakeChange } from './audit-fixtures.ts'

async function module(w: AuditFixtures) {
  const name = w.name('module')
  await w.ofOrganization('registry-modules', data('registry-modules', { name, provider: 'aws' }))
  return name
}

const newVersion = data('registry-module-versions', { version: '1.0.0' })

async function version(w: AuditFixtures) {
  const name = await module(w)
  const created = await w.send('POST', `/registry-modules/${w.organization.name}/${name}/aws/versions`, newVersion)
  return { name, upload: String(created.links.upload) }
}

async function fromRepository(w: AuditFixtures) {
  const newClient = data('oauth-clients', { 'service-provider': 'github', 'oauth-token-string': 'secret' })
  const client = await w.ofOrganization('oauth-clients', newClient)
  const [{ id: token }] = await w.send('GET', `/oauth-clients/${client}/oauth-tokens`)
  const repo = { identifier: `acme/terraform-aws-${w.name('module')}`, 'oauth-token-id': token }
  return data('registry-modules', { 'vcs-repo': repo })
}

const BY_NAME = '/organizations/:organization/registry-modules/:registry/:namespace/:name'
const LEGACY = '/registry-modules/actions/delete/:organization/:name'

/** The parts of a module's address, with its registry and namespace or in the older form. */
const address = ({ organization: { name: own } }: AuditFixtures, ...rest: string[]) => [own, 'private', own, ...rest]
const older = ({ organization: { name: own } }: AuditFixtures, ...rest: string[]) => [own, ...rest]

async function newKey() {
  return (await generateKey({ userIDs: [{ name: 'release' }], format: 'object' })).publicKey
}

const KEYS = '/api/registry/private/v2/gpg-keys'

async function gpgKey({ app, admin, organization }: AuditFixtures) {
  const key = await newKey()
  const body = data('gpg-keys', { namespace: organization.name, 'ascii-armor': key.armor() })
  await app.request({ method: 'POST', url: KEYS, token: admin.token, body })
  return [organization.name, key.getKeyID().toHex().toUpperCase()]
}

const newProvider = (w: AuditFixtures) =>
  data('registry-providers', {
    name: w.name('provider'),
    namespace: w.organization.name,
    'registry-name': 'private',
  })
const newProviderVersion = data('registry-provider-versions', { version: '1.0.0', 'key-id': 'A' })
const PACKAGE = Buffer.from('PK\u0003\u0004')
const shasum = createHash('sha256').update(PACKAGE).digest('hex')
const newPlatform = data('registry-provider-platforms', { os: 'linux', arch: 'amd64', shasum, filename: 'x.zip' })

async function provider(w: AuditFixtures) {
  const body = newProvider(w)
  await w.ofOrganization('registry-providers', body)
  return address(w, (body.data.attributes as { name: string }).name)
}

async function providerVersion(w: AuditFixtures) {
  const ids = await provider(w)
  const path = `/organizations/${ids[0]}/registry-providers/${ids.slice(1).join('/')}/versions`
  const { links } = await w.send('POST', path, newProviderVersion)
  return { ids: [...ids, '1.0.0'], path: `${path}/1.0.0`, upload: String(links['shasums-upload']) }
}

async function platform(w: AuditFixtures) {
  const { ids, path } = await providerVersion(w)
  const { links } = await w.send('POST', `${path}/platforms`, newPlatform)
  return { ids: [...ids, 'linux', 'amd64'], upload: String(links['provider-binary-upload']) }
}

const PROVIDERS = '/organizations/:organization/registry-providers'
const PROVIDER = `${PROVIDERS}/:registryName/:namespace/:name`

export const REGISTRY_CHANGES: Record<string, MakeChange> = {
  'POST /organizations/:organization/registry-modules': (w) => ({
    ids: [w.organization.name],
    body: data('registry-modules', { name: w.name('module'), provider: 'aws' }),
  }),
  'POST /organizations/:organization/registry-modules/vcs': async (w) => ({
    ids: [w.organization.name],
    body: await fromRepository(w),
  }),
  'POST /registry-modules': async (w) => ({ body: await fromRepository(w) }),
  'POST /registry-modules/:moduleId/actions/resync': async (w) => ({
    ids: [await w.ofOrganization('registry-modules/vcs', await fromRepository(w))],
  }),
  [`PATCH ${BY_NAME}/:provider`]: async (w) => ({
    ids: address(w, await module(w), 'aws'),
    body: data('registry-modules', { 'no-code': true }),
  }),
  [`DELETE ${BY_NAME}`]: async (w) => ({ ids: address(w, await module(w)) }),
  [`DELETE ${BY_NAME}/:provider`]: async (w) => ({ ids: address(w, await module(w), 'aws') }),
  [`DELETE ${BY_NAME}/:provider/:version`]: async (w) => ({
    ids: address(w, (await version(w)).name, 'aws', '1.0.0'),
  }),
  [`POST ${LEGACY}`]: async (w) => ({ ids: older(w, await module(w)) }),
  [`POST ${LEGACY}/:provider`]: async (w) => ({ ids: older(w, await module(w), 'aws') }),
  [`POST ${LEGACY}/:provider/:version`]: async (w) => ({ ids: older(w, (await version(w)).name, 'aws', '1.0.0') }),
  'POST /registry-modules/:organization/:name/:provider/versions': async (w) => ({
    ids: older(w, await module(w), 'aws'),
    body: newVersion,
  }),
  'POST /organizations/:organization/registry-modules/private/:namespace/:name/:provider/versions': async (w) => ({
    ids: [w.organization.name, w.organization.name, await module(w), 'aws'],
    body: newVersion,
  }),
  'PUT /_objects/modules/object/:token': async (w) => {
    const { upload } = await version(w)
    const by = { id: w.admin.id, tokenId: null }
    return { token: undefined, by, url: new URL(upload).pathname, body: EMPTY_ARCHIVE }
  },
  [`POST ${KEYS}`]: async (w) => ({
    body: data('gpg-keys', { namespace: w.organization.name, 'ascii-armor': (await newKey()).armor() }),
  }),
  [`PATCH ${KEYS}/:namespace/:keyId`]: async (w) => {
    const name = w.name('organization')
    await w.send('POST', '/organizations', data('organizations', { name, email: 'a@example.com' }))
    return { ids: await gpgKey(w), body: data('gpg-keys', { namespace: name }) }
  },
  [`DELETE ${KEYS}/:namespace/:keyId`]: async (w) => ({ ids: await gpgKey(w) }),
  [`POST ${PROVIDERS}`]: (w) => ({ ids: [w.organization.name], body: newProvider(w) }),
  [`PATCH ${PROVIDER}`]: async (w) => ({ ids: await provider(w), body: data('registry-providers', {}) }),
  [`DELETE ${PROVIDER}`]: async (w) => ({ ids: await provider(w) }),
  [`POST ${PROVIDER}/versions`]: async (w) => ({ ids: await provider(w), body: newProviderVersion }),
  [`DELETE ${PROVIDER}/versions/:version`]: async (w) => ({ ids: (await providerVersion(w)).ids }),
  [`POST ${PROVIDER}/versions/:version/platforms`]: async (w) => ({
    ids: (await providerVersion(w)).ids,
    body: newPlatform,
  }),
  [`DELETE ${PROVIDER}/versions/:version/platforms/:os/:arch`]: async (w) => ({ ids: (await platform(w)).ids }),
  'PUT /_objects/provider-checksums/:token': async (w) => {
    const by = { id: w.admin.id, tokenId: null }
    const url = new URL((await providerVersion(w)).upload).pathname
    return { token: undefined, by, url, body: Buffer.from(`${shasum}  x.zip\n`) }
  },
  'PUT /_objects/provider-packages/:token': async (w) => {
    const by = { id: w.admin.id, tokenId: null }
    return { token: undefined, by, url: new URL((await platform(w)).upload).pathname, body: PACKAGE }
  },
}
