import { once } from 'node:events'
import http from 'node:http'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser, createWorkspace } from '../../../testing/factories.ts'
import { connectRepository, findWebhook } from '../testing/connected-repository.ts'
import { decideLater } from './decide-delivery.ts'
import { expireCommits, expireVcsDeliveries } from './service.ts'

const app = await createTestApp()
const owner = await createUser(app)

/** A repository with a commit, and a workspace whose first run was started. */
async function followed(settings: object = {}, vcsRepo: object = {}) {
  const connected = await connectRepository(app, owner)
  connected.repository.commit({ 'main.tf': '# first' })
  const { id } = await connected.addWorkspace({ 'queue-all-runs': true, ...settings }, vcsRepo)
  await app.runJobs()
  return { ...connected, id }
}

test('a push starts a run in each workspace that follows the branch, and says why not in the others', async () => {
  const { id, addWorkspace, request, organization, deliver, push, runsOf, decisionsOf } = await followed()
  const other = await addWorkspace({}, { branch: 'stable' })
  const webhook = push({ 'main.tf': '# second' }, 'Change network')

  await deliver('push', webhook)
  await app.runJobs()
  const [run] = await runsOf(id)
  const versionId = run.relationships['configuration-version'].data.id
  const version = await request('GET', `configuration-versions/${versionId}?include=ingress_attributes`)
  const commit = await request('GET', `configuration-versions/${versionId}/ingress-attributes`)
  const log = await request('GET', `organizations/${organization}/vcs-deliveries`)
  const decisions = await request('GET', `vcs-deliveries/${log.json().data[0].id}/decisions`)

  expect(run.attributes).toMatchObject({ status: 'pending', message: 'Change network', 'plan-only': false })
  expect(version.json().data.attributes).toMatchObject({ status: 'uploaded', source: 'gitea', speculative: false })
  expect(version.json().included).toEqual([commit.json().data])
  expect(commit.json().data.attributes).toMatchObject({
    branch: 'main',
    'commit-sha': webhook.after,
    'is-pull-request': false,
    'sender-username': 'mona',
    identifier: 'acme/network',
  })
  expect(log.json().data[0].attributes).toMatchObject({
    source: 'webhook',
    status: 'decided',
    title: 'push to main',
    'commit-sha': webhook.after,
    'run-count': 1,
    'skip-count': 1,
  })
  expect(decisions.json().data).toHaveLength(2)
  expect([await decisionsOf(id), await decisionsOf(other.id)]).toEqual([
    [['pushed', 'pushed to main']],
    [['other-branch', 'the workspace follows the branch stable']],
  ])
  expect(await runsOf(other.id)).toEqual([])
})

test('a wrong signature is refused and leaves nothing', async () => {
  const { deliver, push, deliveries } = await followed()

  const response = await deliver('push', push({ 'main.tf': '' }), { secret: 'wrong' })

  expect(response.status).toBe(401)
  expect(await deliveries()).toEqual([])
})

test('a commit of a branch that the workspace no longer follows does not become its configuration', async () => {
  const { id, tokenId, host, repository, request, deliver, push, runsOf } = await followed()
  repository.git('branch', 'next')
  host.isDown = true
  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'next' }
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: { 'vcs-repo': vcsRepo } })
  host.isDown = false
  app.clock.advance(6 * 60_000)
  await app.runJobs()

  const relationships = { workspace: { data: { id, type: 'workspaces' } } }
  await request('POST', 'runs', { type: 'runs', attributes: {}, relationships })
  await app.runJobs()
  const [run] = await runsOf(id)
  const versionId = run.relationships['configuration-version'].data.id
  const commit = await request('GET', `configuration-versions/${versionId}/ingress-attributes`)

  expect(commit.json().data.attributes.branch).toBe('next')
})

test('a repeated delivery is decided once, and another one of the same commit starts no second run', async () => {
  const { id, deliver, push, runsOf, decisionsOf } = await followed()
  const webhook = push({ 'main.tf': '' })

  await deliver('push', webhook, { id: 'same' })
  await deliver('push', webhook, { id: 'same' })
  await app.runJobs()
  await deliver('push', webhook, { id: 'later' })
  await app.runJobs()

  expect(await runsOf(id)).toHaveLength(2)
  expect((await decisionsOf(id)).map(([reason]) => reason)).toEqual(['same-commit', 'pushed'])
})

test('what prevents one run is the decision there, and prevents no other run', async () => {
  const { id, addWorkspace, organization, request, deliver, push, decisionsOf, deliveries } = await followed()
  const data = { type: 'agent-pools', attributes: { name: 'private' } }
  const pool = (await request('POST', `organizations/${organization}/agent-pools`, data)).json().data.id
  const other = await addWorkspace({ 'queue-all-runs': true, 'execution-mode': 'agent', 'agent-pool-id': pool })
  await app.runJobs()
  const isClosed = { type: 'agent-pools', attributes: { 'organization-scoped': false } }
  expect((await request('PATCH', `agent-pools/${pool}`, isClosed)).status).toBe(200)

  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()

  expect(await decisionsOf(id)).toMatchObject([['pushed', expect.any(String)]])
  expect(await decisionsOf(other.id)).toMatchObject([['failed', expect.stringContaining('agent pool private')]])
  expect(await deliveries()).toMatchObject([{ status: 'decided', 'run-count': 1 }])
})

test('an unexpected failure in one workspace delays neither the runs of others nor their configuration', async () => {
  const { id, addWorkspace, deliver, push, runsOf, deliveries } = await followed()
  const other = await addWorkspace({ 'queue-all-runs': true })
  await app.runJobs()
  const broken = sql.lit(other.id)
  await sql`alter table runs add constraint broken check (workspace_id <> ${broken}) not valid`.execute(app.db)

  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()
  const [run] = await runsOf(id)
  const pending = await deliveries()
  await sql`alter table runs drop constraint broken`.execute(app.db)
  app.clock.advance(60_000)
  await app.runJobs()

  expect(run.attributes).toMatchObject({ message: 'Change', 'waiting-reason': expect.not.stringContaining('fetch') })
  expect(run.attributes.status).toBe('pending')
  expect(pending).toMatchObject([{ status: 'pending', message: expect.stringContaining('internal error') }])
  expect(await runsOf(other.id)).toHaveLength(2)
  expect(await deliveries()).toMatchObject([{ status: 'decided', 'run-count': 2 }])
})

test('a job that died before it ended a delivery continues where it stopped', async () => {
  const { id, addWorkspace, tokenId, request, deliver, push, runsOf, decisionsOf } = await followed()
  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()
  const other = await addWorkspace()
  await app.runJobs()
  await request('PATCH', `workspaces/${other.id}`, { type: 'workspaces', attributes: { 'queue-all-runs': true } })
  const [repository] = await app.db
    .selectFrom('repositories')
    .select('id')
    .where('oauth_token_id', '=', tokenId)
    .execute()
  const reopened = app.db.updateTable('vcs_deliveries').set({ status: 'pending', decided_at: null })
  const [delivery] = await reopened
    .where('repository_id', '=', repository?.id ?? '')
    .returning('id')
    .execute()

  await transact(app.as(), async (ctx) => decideLater(ctx, delivery?.id ?? ''))
  await app.runJobs()

  expect(await runsOf(id)).toHaveLength(2)
  expect(
    (await runsOf(other.id)).map(({ attributes }: { attributes: { status: string } }) => attributes.status),
  ).toEqual(['plan_queued'])
  const decisions = [await decisionsOf(id), await decisionsOf(other.id)]
  expect(decisions.map((each) => each.map(([reason]) => reason))).toEqual([['pushed'], ['pushed']])
})

test('another repository than that of the URL is not found, and owners see why', async () => {
  const { deliver, push, deliveries } = await followed()
  const webhook = push({ 'main.tf': '' })

  const response = await deliver('push', { ...webhook, repository: { ...webhook.repository, full_name: 'acme/other' } })

  expect(response.status).toBe(404)
  expect(await deliveries()).toMatchObject([
    {
      status: 'failed',
      message:
        'the webhook of acme/network reported the repository acme/other: remove it there, or connect that repository',
    },
  ])
})

test('a body that is not the host’s is a clear error', async () => {
  const { deliver } = await followed()

  const response = await deliver('push', { hello: 'world' })

  expect(response.status).toBe(422)
  expect(response.json().errors[0].detail).toContain('the body is not one that this host sends')
})

test('a message with characters that cannot be stored starts a run', async () => {
  const { id, deliver, push, runsOf } = await followed()
  const webhook = push({ 'main.tf': '# second' })
  const head = { ...(webhook.head_commit as object), message: 'Change\u0000 \ud83d 😀' }

  const received = await deliver('push', { ...webhook, head_commit: head })
  await app.runJobs()

  expect(received.status).toBe(202)
  expect((await runsOf(id))[0].attributes.message).toBe('Change\ufffd \ufffd 😀')
})

test('a webhook without a URL of ours is not found', async () => {
  const response = await app.request({ method: 'POST', url: '/webhooks/vcs/nothing', body: Buffer.from('{}') })

  expect(response.status).toBe(404)
})

test('the body of a webhook without a URL of ours is not waited for', async () => {
  const url = await app.listen()
  const sent = http.request(`${url}/webhooks/vcs/nothing`, { method: 'POST', headers: { 'content-length': '1000' } })
  sent.write('{')

  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  sent.destroy()

  expect(response.statusCode).toBe(404)
})

test('a delivery is replayed by those who manage connections', async () => {
  const connected = await connectRepository(app, owner)
  const { organization, organizationId, addWorkspace, request, deliver, push, runsOf, decisionsOf } = connected
  const { id } = await addWorkspace()
  const member = await createUser(app)
  await createTeamWithAccess(app, { organizationId, members: [member], workspaces: { [id]: 'read' } })
  await deliver('push', push({ 'main.tf': '' }))
  await app.runJobs()
  const [delivery] = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json().data
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: { 'queue-all-runs': true } })

  const url = `vcs-deliveries/${delivery.id}/actions/replay`
  const refused = await app.request({ method: 'POST', url: `/api/v2/${url}`, token: member.token })
  const replayed = await request('POST', url)
  await app.runJobs()

  expect([refused.status, replayed.status]).toEqual([403, 202])
  expect((await decisionsOf(id)).map(([reason]) => reason)).toEqual(['pushed', 'no-first-run'])
  expect(await runsOf(id)).toHaveLength(1)
})

test('deliveries expire with their decisions, and runs stay', async () => {
  const { id, deliver, push, deliveries, decisionsOf, runsOf } = await followed()
  await deliver('push', push({ 'main.tf': '' }))
  await app.runJobs()

  await expireVcsDeliveries(app.as(), new AbortController().signal)
  const kept = await deliveries()
  app.clock.advance(31 * 86_400_000)
  await expireVcsDeliveries(app.as(), new AbortController().signal)

  expect(kept).toHaveLength(1)
  expect(await deliveries()).toEqual([])
  expect(await decisionsOf(id)).toEqual([])
  expect((await runsOf(id)).length).toBeGreaterThan(0)
})

test('commits expire after the workspaces that have used them', async () => {
  const { id, request, deliver, push } = await followed()
  await deliver('push', push({ 'main.tf': '' }))
  await app.runJobs()
  const versions = app.db.selectFrom('configuration_versions').select('ingress_attributes_id as id')
  const ids = (await versions.where('workspace_id', '=', id).execute()).map((row) => row.id ?? '')
  const expire = async () => {
    app.clock.advance(8 * 86_400_000)
    await expireCommits(app.as(), new AbortController().signal)
    return (await app.db.selectFrom('ingress_attributes').select('id').where('id', 'in', ids).execute()).length
  }

  const used = await expire()
  const deleted = await request('DELETE', `workspaces/${id}`)

  expect([used, deleted.status]).toEqual([2, 204])
  expect(await expire()).toBe(0)
})

test('a webhook of a repository that was left is not found', async () => {
  const { id, tokenId, request, deliver, push } = await followed()
  const webhook = await findWebhook(app, tokenId)
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: { 'vcs-repo': null } })
  await app.runJobs()

  const response = await deliver('push', push({ 'main.tf': '' }), { webhook })

  expect(response.status).toBe(404)
})

test('members who do not manage connections see the deliveries of repositories that their workspaces use', async () => {
  const { id, organization, organizationId, request, deliver, push } = await followed()
  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()
  const outside = await createWorkspace(app, { organization, actor: owner.actor })
  const [insider, outsider, manager] = [await createUser(app), await createUser(app), await createUser(app)]
  await createTeamWithAccess(app, { organizationId, members: [insider], workspaces: { [id]: 'read' } })
  await createTeamWithAccess(app, { organizationId, members: [outsider], workspaces: { [outside.id]: 'admin' } })
  await createTeamWithAccess(app, { organizationId, members: [manager], organization: { manage_vcs_settings: true } })
  const [delivery] = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json().data
  const paths = [`vcs-deliveries/${delivery.id}`, `vcs-deliveries/${delivery.id}/decisions`]
  const seenBy = async ({ token }: { token: string }) => {
    const read = async (path: string) => app.request({ url: `/api/v2/${path}`, token })
    const list = await read(`organizations/${organization}/vcs-deliveries`)
    const { data, meta } = list.json()
    return [
      list.status,
      data.length,
      meta.pagination['total-count'],
      ...(await Promise.all(paths.map(read))).map(({ status }) => status),
    ]
  }

  expect(await seenBy(insider)).toEqual([200, 1, 1, 200, 200])
  expect(await seenBy(manager)).toEqual([200, 1, 1, 200, 200])
  expect(await seenBy(outsider)).toEqual([200, 0, 0, 404, 404])
})
