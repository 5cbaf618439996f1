import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request as undiciRequest } from 'undici'
import { describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'
import { hasTerraform } from './terraform.ts'

/** Time limit for a run of the sample to reach a status, in ms. */
const WAIT = { timeout: 60_000, interval: 250 }

type Api = BootedServer['api']

async function latestRun(api: Api, workspaceId: string) {
  return (await api('GET', `/workspaces/${workspaceId}/runs`)).data[0]
}

async function reaches(api: Api, workspaceId: string, status: string) {
  await expect.poll(async () => (await latestRun(api, workspaceId))?.attributes.status, WAIT).toBe(status)
  return latestRun(api, workspaceId)
}

/** Creates the sample and waits until its first run needs approval. */
async function makeSample(api: Api) {
  const { data } = await api('POST', '/organizations/main/actions/make-sample', undefined, { expect: 201 })
  const network = data.relationships.network.data.id as string
  const app = data.relationships.app.data.id as string
  return { network, app, run: await reaches(api, network, 'post_plan_completed') }
}

async function outputs(api: Api, workspaceId: string) {
  const { data } = await api('GET', `/workspaces/${workspaceId}/current-state-version-outputs`)
  return Object.fromEntries(data.map(({ attributes }: any) => [attributes.name, attributes.value]))
}

async function listAll(api: Api) {
  const lists = ['projects', 'workspaces', 'tasks', 'varsets']
  const found = await Promise.all(lists.map(async (list) => (await api('GET', `/organizations/main/${list}`)).data))
  return found.map((things) => things.map(({ attributes }: any) => attributes.name).toSorted())
}

/** The API at the address on which the server listens, for base URLs that are unreachable here. */
async function directApi(
  { dataDir }: BootedServer,
  { port, isSecure }: { port: number; isSecure: boolean },
): Promise<Api> {
  const ca = isSecure ? await readFile(join(dataDir, 'tls/ca.pem'), 'utf8') : undefined
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca } })
  atEnd(() => dispatcher.destroy())
  return async (method, path, body, { expect: wanted } = {}) => {
    const response = await undiciRequest(`${isSecure ? 'https' : 'http'}://127.0.0.1:${port}/api/v2${path}`, {
      method: method as 'GET' | 'POST',
      dispatcher,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/vnd.api+json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.body.text()
    if (wanted === undefined ? response.statusCode >= 400 : response.statusCode !== wanted) {
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${text}`)
    }
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  }
}

describe.skipIf(!hasTerraform)('the sample with the real engine', () => {
  test('plans, is reviewed, applies, triggers a run and is deleted without residue; twice', async () => {
    const { api } = await bootServer()
    const bare = await listAll(api)

    const { network, app, run } = await makeSample(api)
    const [stage] = (await api('GET', `/runs/${run.id}/task-stages`)).data
    const resultId = stage.relationships['task-results'].data[0].id
    const result = (await api('GET', `/task-results/${resultId}`)).data.attributes
    const findings = (await api('GET', `/task-results/${resultId}/outcomes`)).data
    await api('POST', `/runs/${run.id}/actions/apply`, {})
    await reaches(api, network, 'applied')
    const triggered = await reaches(api, app, 'post_plan_completed')
    await api('POST', `/runs/${triggered.id}/actions/apply`, {})
    await reaches(api, app, 'applied')

    expect(result).toMatchObject({
      status: 'passed',
      message: '12 to create, 0 to change, 0 to replace, 0 to destroy; 2 findings',
    })
    expect(findings.map(({ attributes }: any) => attributes.description)).toEqual([
      'Planned changes',
      'Nothing is destroyed',
      'Open to the whole internet: module.firewall.terraform_data.rule["https"]',
      'Sensitive outputs: vpn_password',
    ])
    expect(triggered.attributes.source).toBe('tfe-run-trigger')
    expect(await outputs(api, network)).toMatchObject({ name: 'sample-production', rule_count: 3, vpn_password: null })
    expect(await outputs(api, app)).toEqual({
      network: 'sample-production',
      owner: 'platform team',
      replicas: { web: 2, worker: 1 },
    })

    await api('DELETE', '/organizations/main/sample', undefined, { expect: 204 })
    expect(await listAll(api)).toEqual(bare)

    const again = await makeSample(api)
    await api('POST', `/runs/${again.run.id}/actions/apply`, {})
    // While the run is active.
    await api('DELETE', '/organizations/main/sample', undefined, { expect: 204 })
    expect(await listAll(api)).toEqual(bare)
  }, 240_000)

  test('a changed variable destroys, replaces and updates resources, and the review names the destroyed ones', async () => {
    const { api } = await bootServer()
    const { network, run } = await makeSample(api)
    await api('POST', `/runs/${run.id}/actions/apply`, {})
    await reaches(api, network, 'applied')
    const variables = (await api('GET', `/workspaces/${network}/vars`)).data
    const change = async (key: string, value: string) => {
      const { id } = variables.find(({ attributes }: any) => attributes.key === key)
      await api('PATCH', `/workspaces/${network}/vars/${id}`, { data: { type: 'vars', id, attributes: { value } } })
    }
    await change('environment', 'staging')
    await change('subnets', '{ edge = { cidr = "10.20.1.0/24", public = true } }')

    const relationships = { workspace: { data: { type: 'workspaces', id: network } } }
    const { data } = await api('POST', '/runs', { data: { type: 'runs', attributes: {}, relationships } })
    await reaches(api, network, 'post_plan_completed')

    const [stage] = (await api('GET', `/runs/${data.id}/task-stages`)).data
    const resultId = stage.relationships['task-results'].data[0].id
    const { message } = (await api('GET', `/task-results/${resultId}`)).data.attributes
    expect(message).toBe('0 to create, 7 to change, 1 to replace, 4 to destroy; 3 findings')
  }, 120_000)

  test.each<[string, Record<string, string>]>([
    [
      'that serves TLS by its own authority, under another name',
      { GROUNDSTATE_TLS: 'auto', GROUNDSTATE_BASE_URL: 'https://groundstate.example' },
    ],
    [
      'behind a proxy',
      { GROUNDSTATE_BASE_URL: 'https://groundstate.example/base', GROUNDSTATE_TRUST_PROXY: 'loopback' },
    ],
    [
      'on all addresses that may call no private one',
      { GROUNDSTATE_HOST: '0.0.0.0', GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' },
    ],
  ])(
    'a server %s reviews its sample',
    async (_, settings) => {
      const port = await freePort()
      const server = await bootServer(settings, { port })
      const api = await directApi(server, { port, isSecure: 'GROUNDSTATE_TLS' in settings })

      const { run } = await makeSample(api)

      const [stage] = (await api('GET', `/runs/${run.id}/task-stages`)).data
      expect(stage.attributes.status).toBe('passed')
    },
    120_000,
  )
})
