import { createHash } from 'node:crypto'
import { createMessage, generateKey, sign } from 'openpgp'
import type { TestApp } from '../../testing/app.ts'
import type { TestUser } from '../../testing/factories.ts'
import type { FakeAgent } from '../../testing/fake-agent.ts'
import { claimPoliciesOf, reportPolicies } from '../../testing/policies.ts'
import { EMPTY_ARCHIVE, put } from '../../testing/runs.ts'

/* Fixtures of the registry and of policies: see `fixtures.ts`. */

export type Connecting = {
  make: (url: string, type: string, attributes: object, relationships?: object) => Promise<string>
  organization: { id: string; name: string }
}

type Attached = { make: Connecting['make']; inside: string; workspace: string }

export async function createAttachedPolicies(app: TestApp, { make, inside, workspace }: Attached) {
  const policy = await make(`${inside}/policies`, 'policies', { name: 'deletions', kind: 'opa', query: 'data.x.deny' })
  await app.db.insertInto('policy_sources').values({ policy_id: policy, code: 'package x' }).execute()
  const list = (type: string, id: string) => ({ data: [{ type, id }] })
  const relationships = { policies: list('policies', policy), workspaces: list('workspaces', workspace) }
  await make(`${inside}/policy-sets`, 'policy-sets', { name: 'attached', kind: 'opa' }, relationships)
}

/** The evaluation of a run's policies, which pass, and the outcome of their set. */
export async function evaluate(
  app: TestApp,
  { agent, run, owner }: { agent: FakeAgent; run: string; owner: TestUser },
) {
  const request = await claimPoliciesOf(app, agent, run)
  await reportPolicies(request)
  const stages = await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: owner.token })
  const [evaluation] = stages.json().data[0].relationships['policy-evaluations'].data
  const shown = await app.request({ url: `/api/v2/policy-evaluations/${evaluation.id}`, token: owner.token })
  const [outcome] = shown.json().data.relationships['policy-set-outcomes'].data
  return { 'policy-evaluations': evaluation.id as string, 'policy-set-outcomes': outcome.id as string }
}

/** A module with a published version; the parts of its address are named after the parameters before them. */
export async function createModule(app: TestApp, { make, organization }: Connecting, token: string) {
  const attributes = { name: 'network', provider: 'aws' }
  const id = await make(`/organizations/${organization.name}/registry-modules`, 'registry-modules', attributes)
  const versions = `/registry-modules/${organization.name}/network/aws/versions`
  const version = await make(versions, 'registry-module-versions', { version: '1.0.0' })
  const address = `/api/v2/organizations/${organization.name}/registry-modules/private/${organization.name}/network/aws`
  const shown = await app.request({ url: `${address}/version?module_version=1.0.0`, token })
  const upload = await put(app, shown.json().data.links.upload, EMPTY_ARCHIVE)
  if (upload.status !== 200) throw new Error(`the upload of a module failed: ${upload.text}`)
  // Its documents are read later.
  await app.runJobs()
  return {
    'registry-modules': id,
    'registry-module-versions': version,
    'organizations/registry-modules': 'private',
    ':registry': organization.name,
    ':namespace': 'network',
    ':organization': 'network',
    ':name': 'aws',
    ':provider': '1.0.0',
    private: organization.name,
    show: organization.name,
    delete: organization.name,
    modules: organization.name,
    'registry-modules>versions': organization.name,
  }
}

/** A policy that a set has, a set with a version that awaits its archive, a parameter, and a trial that awaits its archive. */
export async function createPolicies(app: TestApp, { make, organization }: Connecting, run: string) {
  const inside = `/organizations/${organization.name}`
  const policy = await make(`${inside}/policies`, 'policies', { name: 'tags', kind: 'opa', query: 'data.tags.deny' })
  await app.db.insertInto('policy_sources').values({ policy_id: policy, code: 'package tags' }).execute()
  const set = await make(`${inside}/policy-sets`, 'policy-sets', { name: 'tags', kind: 'opa' })
  const parameter = { key: 'owner', value: 'ops', category: 'policy-set' }
  const runs = { data: [{ type: 'runs', id: run }] }
  return {
    policies: policy,
    'policy-sets': set,
    'policy-set-versions': await make(`/policy-sets/${set}/versions`, 'policy-set-versions', {}),
    parameters: await make(`/policy-sets/${set}/parameters`, 'vars', parameter),
    'policy-trials': await make(`${inside}/policy-trials`, 'policy-trials', {}, { runs }),
    'opa-versions': await createOpaVersion(app),
  }
}

let opaVersions = 0

/** One that no policy set names. */
async function createOpaVersion(app: TestApp) {
  const id = app.newId('tool')
  opaVersions += 1
  const row = { id, version: `0.${opaVersions}.0`, created_at: app.clock.now() }
  await app.db.insertInto('opa_versions').values(row).execute()
  return id
}

/** A provider with the name of the module, its key, and a published version. */
export async function createProvider(app: TestApp, { make, organization }: Connecting, token: string) {
  const { publicKey, privateKey } = await generateKey({ userIDs: [{ name: 'release' }], format: 'object' })
  const attributes = { namespace: organization.name, 'ascii-armor': publicKey.armor() }
  const body = { data: { type: 'gpg-keys', attributes } }
  const added = await app.request({ method: 'POST', url: '/api/registry/private/v2/gpg-keys', token, body })
  const keyId: string = added.json().data.attributes['key-id']
  const providers = `/organizations/${organization.name}/registry-providers`
  const provider = { name: 'network', namespace: organization.name, 'registry-name': 'private' }
  const id = await make(providers, 'registry-providers', provider)
  const versions = `${providers}/private/${organization.name}/network/versions`
  await make(versions, 'registry-provider-versions', { version: '1.0.0', 'key-id': keyId })
  const archive = Buffer.from('PK\u0003\u0004')
  const shasum = createHash('sha256').update(archive).digest('hex')
  const platform = { os: 'linux', arch: 'amd64', shasum, filename: 'network.zip' }
  await make(`${versions}/1.0.0/platforms`, 'registry-provider-platforms', platform)
  const show = async (url: string) => (await app.request({ url: `/api/v2${url}`, token })).json().data.links
  const sums = Buffer.from(`${shasum}  network.zip\n`)
  const message = await createMessage({ binary: sums })
  const signature = await sign({ message, signingKeys: privateKey, detached: true, format: 'binary' })
  const links = { ...(await show(`${versions}/1.0.0`)), ...(await show(`${versions}/1.0.0/platforms/linux/amd64`)) }
  const uploads = [
    await put(app, links['shasums-upload'], sums),
    await put(app, links['shasums-sig-upload'], Buffer.from(signature)),
    await put(app, links['provider-binary-upload'], archive),
  ]
  for (const { status, text } of uploads)
    if (status !== 200) throw new Error(`the upload of a provider failed: ${text}`)
  return {
    'registry-providers': id,
    'organizations/registry-providers': 'private',
    ':registryName': organization.name,
    'organizations/versions': '1.0.0',
    'organizations/platforms': 'linux',
    ':os': 'amd64',
    ':type': '1.0.0',
    'api/download': 'linux',
    providers: organization.name,
    'gpg-keys': organization.name,
    ':namespace>:keyId': keyId,
  }
}
