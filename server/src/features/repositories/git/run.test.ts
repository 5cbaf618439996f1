import { readFileSync, readdirSync } from 'node:fs'
import { temporaryDirectory } from '@groundstate/agent/testing/agent-fixture'
import { makeRepository } from '@groundstate/agent/testing/git-server'
import { makeHostKey, makeSshKey, serveSsh } from '@groundstate/agent/testing/ssh-server'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { sweepArchives } from '../../runs/configuration-versions/jobs.ts'
import { archiveOf, connectRepository } from '../testing/connected-repository.ts'

const app = await createTestApp()
const owner = await createUser(app)
const { signal } = new AbortController()
const DAY_MS = 86_400_000

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
const request = async (method: Method, path: string, data?: unknown) =>
  app.request({ method, url: `/api/v2/${path}`, token: owner.token, ...(data !== undefined && { body: { data } }) })

test('a plain git server is read through ssh', async () => {
  const root = await temporaryDirectory()
  const repository = makeRepository(root, 'acme/network')
  repository.commit({ 'main.tf': '# through ssh' })
  const [key, hostKey] = [await makeSshKey(), await makeHostKey()]
  const server = await serveSsh(root, { publicKey: key.publicKey, hostKey })
  const { name: organization } = await createOrganization(app, owner)
  const created = await request('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes: {
      'service-provider': 'git',
      'http-url': `ssh://git@127.0.0.1:${server.port}`,
      'private-key': key.privateKey,
    },
  })
  const tokenId = created.json().data.relationships['oauth-tokens'].data[0].id
  const { id } = await createWorkspace(app, { organization, actor: owner.actor })
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId }

  const attributes = { 'vcs-repo': vcsRepo, 'queue-all-runs': true }
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })
  await app.runJobs()
  const [run] = (await request('GET', `workspaces/${id}/runs`)).json().data
  const versionId = run.relationships['configuration-version'].data.id

  expect(run.attributes).toMatchObject({ status: 'plan_queued' })
  expect(await archiveOf(request, versionId)).toEqual({ 'main.tf': '# through ssh' })
})

test('a token that git is refused marks the connection as failed, and the run says why', async () => {
  const { repository, addWorkspace, clientId, tokenId, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  await app.db.updateTable('oauth_tokens').set({ username: 'nobody' }).where('id', '=', tokenId).execute()

  const { id } = await addWorkspace({ 'queue-all-runs': true })
  await app.runJobs()
  const [run] = await runsOf(id)
  const client = (await request('GET', `oauth-clients/${clientId}`)).json().data.attributes

  expect(run.attributes.status).toBe('errored')
  expect(run.attributes['error-message']).toContain('refused the user name and password or token')
  expect(client).toMatchObject({ status: 'failed', 'status-message': expect.stringContaining('refused the user name') })
})

test('an archive is kept until no version names it', async () => {
  const { repository, addWorkspace, deliver, push, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '1' })
  const workspaces = [await addWorkspace(), await addWorkspace()]
  await app.runJobs()
  for (const { id } of workspaces)
    await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: { 'queue-all-runs': true } })
  await deliver('push', push({ 'main.tf': '2' }))
  await app.runJobs()
  const versions = await Promise.all(
    workspaces.map(async ({ id }) => (await runsOf(id))[0].relationships['configuration-version'].data.id as string),
  )
  const [first = '', second = ''] = versions
  const sweep = async () => {
    app.clock.advance(3 * DAY_MS)
    await sweepArchives(app.as(), signal)
    return archives()
  }
  const archives = async () => {
    const keys: string[] = []
    for await (const page of app.blobs.list('repository-archives/')) keys.push(...page.keys)
    return keys.length
  }

  const before = await archives()
  await request('DELETE', `workspaces/${workspaces[0]?.id}`)
  const shared = await sweep()
  const readable = await archiveOf(request, second)
  const gone = await request('GET', `configuration-versions/${first}`)
  await request('DELETE', `workspaces/${workspaces[1]?.id}`)
  const left = await sweep()

  expect(gone.status).toBe(404)
  expect(readable).toEqual({ 'main.tf': '2' })
  expect(shared).toBe(before)
  expect(left).toBe(before - 1)
})

/** The arguments of all processes. */
function processArguments() {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') : []
    } catch {
      // It has ended.
      return []
    }
  })
}

test('neither git nor its children get a secret as an argument', async () => {
  const { repository, addWorkspace, host } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const seen: string[] = []
  host.onGit = () => seen.push(...processArguments())

  await addWorkspace({ 'queue-all-runs': true })
  await app.runJobs()

  expect(seen.join('\n')).toMatch(/git .*fetch/)
  expect(seen.join('\n')).not.toMatch(/s3cret-t0ken|YWRhOnMzY3JldC10MGtlbg/)
})
