import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { SHA, pullRequest, pullRequestEvent, push } from '../../../vcs-hosts/github/testing/bodies.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'
import { expireVcsDeliveries } from './service.ts'

const app = await createTestApp()
const owner = await createUser(app)

type Method = 'GET' | 'POST' | 'PATCH'
async function send(method: Method, path: string, data?: unknown, token = owner.token) {
  return app.request({ method, url: `/api/v2/${path}`, token, ...(data !== undefined && { body: { data } }) })
}

/** An organization whose workspaces use acme/network, with what its host would know. */
async function connect() {
  const { name: organization, id } = await createOrganization(app, owner)
  const attributes = { 'service-provider': 'github', 'oauth-token-string': 'ghp_x' }
  const created = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  const tokenId: string = created.json().data.relationships['oauth-tokens'].data[0].id
  const addWorkspace = async (settings: object = {}, repository: object = {}) => {
    const workspace = await createWorkspace(app, { organization, actor: owner.actor })
    const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'main', ...repository }
    const changes = { 'queue-all-runs': true, ...settings, 'vcs-repo': vcsRepo }
    const response = await send('PATCH', `workspaces/${workspace.id}`, { type: 'workspaces', attributes: changes })
    expect(response.status).toBe(200)
    return { id: workspace.id, url: response.json().data.attributes['vcs-repo']['webhook-url'] as string }
  }
  return { id, organization, addWorkspace }
}

let deliveries = 0

async function deliver(
  url: string,
  content: object,
  { event = 'push', id = `delivery-${++deliveries}`, secret = '' } = {},
) {
  const path = new URL(url).pathname
  const repository = await app.db
    .selectFrom('repositories')
    .select(['id', 'webhook_secret'])
    .where('webhook_path', '=', path.split('/').at(-1) ?? '')
    .executeTakeFirstOrThrow()
  const key = secret || app.secrets.openText(repository.webhook_secret, webhookContext(repository.id))
  const body = Buffer.from(JSON.stringify(content))
  const headers = {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
  }
  return app.request({ method: 'POST', url: path, headers, body })
}

async function decisionsOf(workspaceId: string) {
  const response = await send('GET', `workspaces/${workspaceId}/vcs-decisions`)
  return response.json().data.map(({ attributes }: { attributes: Record<string, string> }) => attributes['reason'])
}

async function runsOf(workspaceId: string) {
  return (await send('GET', `workspaces/${workspaceId}/runs`)).json().data
}

test('a push starts a run in each workspace that follows the branch, and says why not in the others', async () => {
  const { organization, addWorkspace } = await connect()
  const follower = await addWorkspace()
  const other = await addWorkspace({}, { branch: 'stable' })

  const response = await deliver(follower.url, push())
  await app.runJobs()
  const [run] = await runsOf(follower.id)
  const versionId = run.relationships['configuration-version'].data.id
  const version = await send('GET', `configuration-versions/${versionId}?include=ingress_attributes`)
  const commit = await send('GET', `configuration-versions/${versionId}/ingress-attributes`)
  const log = await send('GET', `organizations/${organization}/vcs-deliveries`)
  const decisions = await send('GET', `vcs-deliveries/${log.json().data[0].id}/decisions`)

  expect(response.status).toBe(202)
  expect(run.attributes).toMatchObject({ status: 'fetching', source: 'tfe-configuration-version' })
  expect(version.json().data.attributes).toMatchObject({ status: 'fetching', source: 'github', speculative: false })
  expect(version.json().included).toEqual([commit.json().data])
  expect(commit.json().data.attributes).toMatchObject({
    branch: 'main',
    'commit-sha': SHA.pushed,
    'is-pull-request': false,
    'sender-username': 'mona',
    identifier: 'acme/network',
  })
  expect(log.json().data[0].attributes).toMatchObject({
    source: 'webhook',
    status: 'decided',
    title: 'push to main',
    'commit-sha': SHA.pushed,
    'run-count': 1,
    'skip-count': 1,
  })
  expect(decisions.json().data).toHaveLength(2)
  expect([await decisionsOf(follower.id), await decisionsOf(other.id)]).toEqual([['pushed'], ['other-branch']])
  expect(await runsOf(other.id)).toEqual([])
})

test('a wrong signature is refused and leaves nothing', async () => {
  const { organization, addWorkspace } = await connect()
  const { url } = await addWorkspace()

  const response = await deliver(url, push(), { secret: 'wrong' })
  const log = await send('GET', `organizations/${organization}/vcs-deliveries`)

  expect(response.status).toBe(401)
  expect(log.json().data).toEqual([])
})

test('a repeated delivery is decided once, and another one of the same commit starts no second run', async () => {
  const { addWorkspace } = await connect()
  const { id, url } = await addWorkspace()

  await deliver(url, push(), { id: 'same' })
  await deliver(url, push(), { id: 'same' })
  await app.runJobs()
  await deliver(url, push(), { id: 'later' })
  await app.runJobs()

  expect(await runsOf(id)).toHaveLength(1)
  expect((await decisionsOf(id)).toSorted()).toEqual(['pushed', 'same-commit'])
})

test('a pull request is planned only', async () => {
  const { addWorkspace } = await connect()
  const { id, url } = await addWorkspace()

  await deliver(url, pullRequestEvent('opened', pullRequest()), { event: 'pull_request' })
  await app.runJobs()
  const [run] = await runsOf(id)

  expect(await decisionsOf(id)).toEqual(['pull-request'])
  expect(run.attributes).toMatchObject({ 'plan-only': true })
})

test('another repository than that of the URL is not found, and owners see why', async () => {
  const { organization, addWorkspace } = await connect()
  const { url } = await addWorkspace({}, { identifier: 'acme/other' })

  const response = await deliver(url, push())
  const log = await send('GET', `organizations/${organization}/vcs-deliveries?filter[status]=failed`)

  expect(response.status).toBe(404)
  expect(log.json().data[0].attributes.message).toBe(
    'the webhook of acme/other reported the repository acme/network: remove it there, or connect that repository',
  )
})

test.each([['nonsense', { hello: 'world' }]])('a body that is %s is a clear error', async (_, content) => {
  const { addWorkspace } = await connect()
  const { url } = await addWorkspace()

  const response = await deliver(url, content)

  expect(response.status).toBe(422)
  expect(response.json().errors[0].detail).toContain('the body is not one that this host sends')
})

test('a webhook without a URL of ours is not found', async () => {
  const response = await app.request({ method: 'POST', url: '/webhooks/vcs/nothing', body: Buffer.from('{}') })

  expect(response.status).toBe(404)
})

test('a delivery is replayed by those who manage connections', async () => {
  const { id: organizationId, organization, addWorkspace } = await connect()
  const { id, url } = await addWorkspace({ 'queue-all-runs': false })
  const member = await createUser(app)
  await addMember(app, organizationId, member)
  await deliver(url, push())
  await app.runJobs()
  const [delivery] = (await send('GET', `organizations/${organization}/vcs-deliveries`)).json().data
  const attributes = { 'queue-all-runs': true }
  await send('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })

  const refused = await send('POST', `vcs-deliveries/${delivery.id}/actions/replay`, undefined, member.token)
  const replayed = await send('POST', `vcs-deliveries/${delivery.id}/actions/replay`)
  await app.runJobs()

  expect([refused.status, replayed.status]).toEqual([403, 202])
  expect((await decisionsOf(id)).toSorted()).toEqual(['no-first-run', 'pushed'])
  expect(await runsOf(id)).toHaveLength(1)
})

test('deliveries expire with their decisions, and runs stay', async () => {
  const { organization, addWorkspace } = await connect()
  const { id, url } = await addWorkspace()
  await deliver(url, push())
  await app.runJobs()
  const list = async () => (await send('GET', `organizations/${organization}/vcs-deliveries`)).json().data

  await expireVcsDeliveries(app.as(), new AbortController().signal)
  const kept = await list()
  app.clock.advance(31 * 86_400_000)
  await expireVcsDeliveries(app.as(), new AbortController().signal)

  expect(kept).toHaveLength(1)
  expect(await list()).toEqual([])
  expect(await decisionsOf(id)).toEqual([])
  expect(await runsOf(id)).toHaveLength(1)
})
