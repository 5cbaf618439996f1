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
}
