import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, runStatus } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { addMember } from '../../../testing/teams.ts'
import { planWith } from './testing/plans.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const MODULES = `/api/v2/organizations/${acme.name}/registry-modules`
const PROVIDERS = `/api/v2/organizations/${acme.name}/registry-providers`

async function send(method: 'GET' | 'POST' | 'DELETE', url: string, { data, token = owner.token }: Sent = {}) {
  return app.request({ method, url, token, ...(data && { body: { data } }) })
}
type Sent = { data?: object; token?: string }

async function createModule(name: string): Promise<string> {
  const attributes = { name, provider: 'aws', 'registry-name': 'private' }
  return (await send('POST', MODULES, { data: { type: 'registry-modules', attributes } })).json().data.id
}

async function createProvider(name: string, versions: readonly string[] = []): Promise<string> {
  const attributes = { name, namespace: acme.name, 'registry-name': 'private' }
  const created = await send('POST', PROVIDERS, { data: { type: 'registry-providers', attributes } })
  for (const version of versions) {
    const data = { type: 'registry-provider-versions', attributes: { version, 'key-id': 'A' } }
    await send('POST', `${PROVIDERS}/private/${acme.name}/${name}/versions`, { data })
  }
  return created.json().data.id
}

async function workspace() {
  return addWorkspace(app, { user: owner, organization: acme.name })
}

/** The uses of a module or provider as `workspace version`. */
async function usesOf(type: 'registry-modules' | 'registry-providers', id: string, token?: string) {
  const { data, meta } = (await send('GET', `/api/v2/${type}/${id}/workspaces`, { ...(token && { token }) })).json()
  type Row = { attributes: { 'workspace-name': string; version: string | null } }
  const uses = (data as Row[]).map(({ attributes }) => `${attributes['workspace-name']} ${attributes.version}`)
  return { uses, hidden: meta['hidden-count'], hiddenVersions: meta['hidden-versions'] }
}

const module = (name: string, version = '1.0.0') => ({ address: `${acme.name}/${name}/aws`, version })
const provider = (name: string, version = '1.0.0') => ({ address: `${acme.name}/${name}`, version })

describe('the latest plan of a workspace', () => {
  test('defines which modules and providers it uses', async () => {
    const [id, providerId, setting] = [await createModule('network'), await createProvider('cloud'), await workspace()]
    const name = setting.workspaceName
    const versions = ['1.0.0', '2.0.0'].map((version) => module('NetWork', version))
    await planWith(app, agent, { setting, installed: { modules: versions, providers: [provider('Cloud')] } })
    const first = [await usesOf('registry-modules', id), await usesOf('registry-providers', providerId)]
    await planWith(app, agent, { setting, installed: { modules: [module('network', '2.0.0')] } })
    const second = [await usesOf('registry-modules', id), await usesOf('registry-providers', providerId)]

    await planWith(app, agent, { setting, installed: {} })

    expect(first.map(({ uses }) => uses)).toEqual([[`${name} 1.0.0`, `${name} 2.0.0`], [`${name} 1.0.0`]])
    expect(second.map(({ uses }) => uses)).toEqual([[`${name} 2.0.0`], []])
    expect((await usesOf('registry-modules', id)).uses).toEqual([])
  })

  test.each([
    ['is plan-only', { 'plan-only': true }, { modules: [] }],
    ['does not know its modules, as that of an earlier agent', {}, undefined],
  ])('changes nothing if it %s', async (_, attributes, installed) => {
    const [id, setting] = [await createModule(`kept-${Object.keys(attributes).length}`), await workspace()]
    const modules = [module(`kept-${Object.keys(attributes).length}`)]
    await planWith(app, agent, { setting, installed: { modules } })

    await planWith(app, agent, { setting, installed, attributes })

    expect((await usesOf('registry-modules', id)).uses).toEqual([`${setting.workspaceName} 1.0.0`])
  })

  test('counts even if it fails, since its init has installed them', async () => {
    const [id, setting] = [await createModule('failing'), await workspace()]
    const run = await createRun(app, setting)

    const installed = { modules: [module('failing')], providers: [] }
    await (await agent.take()).finish({ status: 'errored', exitCode: 1, installed })

    expect(await runStatus(app, setting, run)).toBe('errored')
    expect((await usesOf('registry-modules', id)).uses).toEqual([`${setting.workspaceName} 1.0.0`])
  })

  test('counts only for the registry of its organization, and what is not there is ignored', async () => {
    const [id, providerId, other] = [await createModule('own'), await createProvider('own'), await createUser(app)]
    const elsewhere = await createOrganization(app, other)
    const setting = await addWorkspace(app, { user: other, organization: elsewhere.name })
    const unknown = { address: `${elsewhere.name}/gone/aws`, version: '1.0.0' }
    const odd = { address: `x'"\\{},%`, version: "'" }

    const installed = { modules: [module('own'), unknown, odd], providers: [provider('own'), odd] }
    await planWith(app, agent, { setting, installed })

    expect(await usesOf('registry-modules', id)).toMatchObject({ uses: [], hidden: 0 })
    expect(await usesOf('registry-providers', providerId)).toMatchObject({ uses: [], hidden: 0 })
  })

  test.each([
    ['too many', { modules: Array.from({ length: 201 }, () => module('junk')), providers: [] }],
    ['too long', { modules: [module('x'.repeat(1000))], providers: [] }],
    ['no objects', { modules: 'x', providers: 7 }],
  ])('ends its run although the reported modules are %s', async (_, installed) => {
    const setting = await workspace()
    const run = await createRun(app, setting)

    const response = await (await agent.take()).finish({ hasChanges: false, installed: installed as never })

    expect(response.status).toBe(204)
    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
  })

  test('frees its uses with the workspace', async () => {
    const [id, providerId, setting] = [await createModule('freed'), await createProvider('freed'), await workspace()]
    await planWith(app, agent, { setting, installed: { modules: [module('freed')], providers: [provider('freed')] } })

    const deleted = await send('DELETE', `/api/v2/workspaces/${setting.workspaceId}`)

    expect(deleted.status).toBe(204)
    expect((await usesOf('registry-modules', id)).uses).toEqual([])
    expect((await usesOf('registry-providers', providerId)).uses).toEqual([])
  })
})

describe('a provider that is only in the state', () => {
  async function storeState({ workspaceId, workspaceName }: Awaited<ReturnType<typeof workspace>>, address: string) {
    const states = stateClient(app, { id: workspaceId, name: workspaceName }, owner.token)
    const raw = rawState({ resources: ['a'] })
      .toString()
      .replace('provider[\\"terraform.io/builtin/terraform\\"]', address)
    await states.lock()
    await states.create(Buffer.from(raw))
    await states.unlock()
  }

  test.each([
    ['of the root module', (name: string) => `provider[\\"groundstate.local/${acme.name}/${name}\\"]`],
    ['with an alias', (name: string) => `provider[\\"LocalTerraform.com/${acme.name}/${name}\\"].west`],
    ['of a module', (name: string) => `module.a.module.b.provider[\\"groundstate.local/${acme.name}/${name}\\"]`],
  ])('%s is used without a version, which keeps the provider but no version of it', async (_, address) => {
    const name = `state${_.length}`
    const [id, setting] = [await createProvider(name, ['1.0.0']), await workspace()]
    await storeState(setting, address(name))
    const path = `${PROVIDERS}/private/${acme.name}/${name}`

    const { uses } = await usesOf('registry-providers', id)
    const listed = await send('GET', `${PROVIDERS}?q=${name}`)
    const version = await send('DELETE', `${path}/versions/1.0.0`)
    const whole = await send('DELETE', path)

    expect(uses).toEqual([`${setting.workspaceName} null`])
    expect(listed.json().data[0].attributes['workspace-count']).toBe(1)
    expect([version.status, whole.status]).toEqual([204, 409])
    expect(whole.json().errors[0].detail).toContain(setting.workspaceName)
  })

  test('has the version of the latest plan, if that has installed it', async () => {
    const [id, setting] = [await createProvider('both'), await workspace()]
    await storeState(setting, `provider[\\"groundstate.local/${acme.name}/both\\"]`)

    await planWith(app, agent, { setting, installed: { providers: [provider('both', '1.2.0')] } })

    expect((await usesOf('registry-providers', id)).uses).toEqual([`${setting.workspaceName} 1.2.0`])
  })

  test('of another registry or organization is no use', async () => {
    const [id, setting] = [await createProvider('foreign'), await workspace()]

    await storeState(setting, `provider[\\"registry.terraform.io/${acme.name}/foreign\\"]`)

    expect((await usesOf('registry-providers', id)).uses).toEqual([])
  })
})

describe('a deletion', () => {
  test('of a version in use names the workspaces, and is forced', async () => {
    const [id, setting] = [await createModule('used'), await workspace()]
    const data = { type: 'registry-module-versions', attributes: { version: '1.0.0' } }
    await send('POST', `/api/v2/registry-modules/${acme.name}/used/aws/versions`, { data })
    await planWith(app, agent, { setting, installed: { modules: [module('used')] } })
    const one = `${MODULES}/private/${acme.name}/used/aws`

    const version = await send('DELETE', `${one}/1.0.0`)
    const whole = await send('POST', `/api/v2/registry-modules/actions/delete/${acme.name}/used`)
    const shown = await send('GET', `/api/v2/registry-modules/${id}`)
    const forced = [await send('DELETE', `${one}/1.0.0?force=true`), await send('DELETE', `${one}?force=true`)]

    expect([version.status, whole.status]).toEqual([409, 409])
    expect(version.json().errors[0].detail).toBe(
      `version 1.0.0 of module used is used by workspaces: ${setting.workspaceName}; add ?force=true to delete it anyway`,
    )
    expect(shown.json().data.attributes['workspace-count']).toBe(1)
    expect(forced.map(({ status }) => status)).toEqual([204, 204])
  })

  test('of a version that nobody uses needs no force', async () => {
    const [, setting] = [await createProvider('partly', ['1.0.0', '2.0.0']), await workspace()]
    await planWith(app, agent, { setting, installed: { providers: [provider('partly', '2.0.0')] } })
    const versions = `${PROVIDERS}/private/${acme.name}/partly/versions`

    const responses = [await send('DELETE', `${versions}/2.0.0`), await send('DELETE', `${versions}/1.0.0`)]

    expect(responses.map(({ status }) => status)).toEqual([409, 204])
  })
})

test('members see the workspaces that they may read, and the number of the others by version', async () => {
  const [id, providerId, setting] = [await createModule('shared'), await createProvider('shared'), await workspace()]
  const member = await createUser(app)
  const outsider = await createUser(app)
  await addMember(app, acme.id, member)
  await planWith(app, agent, { setting, installed: { modules: [module('shared')], providers: [provider('shared')] } })

  const seen = [
    await usesOf('registry-modules', id, member.token),
    await usesOf('registry-providers', providerId, member.token),
  ]
  const listed = await send('GET', `${MODULES}?q=shared`, { token: member.token })
  const hidden = await send('GET', `/api/v2/registry-providers/${providerId}/workspaces`, { token: outsider.token })

  const expected = { uses: [], hidden: 1, hiddenVersions: [{ version: '1.0.0', 'workspace-count': 1 }] }
  expect(seen).toEqual([expected, expected])
  expect(listed.json().data[0].attributes['workspace-count']).toBe(1)
  expect(hidden.status).toBe(404)
})
