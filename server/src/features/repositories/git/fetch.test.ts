import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { archiveFile, unpacked } from '@groundstate/agent/testing/served-repository'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { connectRepository } from '../testing/connected-repository.ts'

const app = await createTestApp()
const owner = await createUser(app)

const FIRST_RUN = { 'queue-all-runs': true }

async function contentOf(bytes: Buffer) {
  const file = await archiveFile()
  await writeFile(file, bytes)
  return unpacked(file)
}

test('the first run of a workspace plans the tip of its branch', async () => {
  const { repository, addWorkspace, request, runsOf } = await connectRepository(app, owner)
  const sha = repository.commit({ 'main.tf': '# first' }, 'Add network')

  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  const [run] = await runsOf(id)
  const versionId = run.relationships['configuration-version'].data.id
  const version = (await request('GET', `configuration-versions/${versionId}?include=ingress_attributes`)).json()
  const download = await request('GET', `configuration-versions/${versionId}/download`)
  const agent = await createFakeAgent(app)
  const job = await agent.take()

  expect(run.attributes.status).toBe('plan_queued')
  expect(version.data.attributes).toMatchObject({ status: 'uploaded', source: 'gitea' })
  expect(version.included[0].attributes).toMatchObject({
    'commit-sha': sha,
    'commit-message': 'Add network',
    branch: 'main',
    'on-default-branch': true,
    'sender-username': 'Ada',
  })
  expect(await contentOf(download.bytes)).toEqual({ 'main.tf': '# first' })
  expect(await contentOf((await job.configuration()).bytes)).toEqual({ 'main.tf': '# first' })
  await job.finish({ hasChanges: false })
})

test('a run without a configuration is fetched, and later runs use what was fetched', async () => {
  const { repository, addWorkspace, request, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace()
  const start = async () => {
    const relationships = { workspace: { data: { id, type: 'workspaces' } } }
    return request('POST', 'runs', { type: 'runs', attributes: {}, relationships })
  }

  await app.runJobs()
  const before = await runsOf(id)
  const first = await start()
  await app.runJobs()
  const second = await start()
  const [versionOf1, versionOf2] = [first, second].map(
    (response) => response.json().data.relationships['configuration-version'].data.id,
  )

  expect(before).toEqual([])
  expect(first.status).toBe(201)
  expect(versionOf2).toBe(versionOf1)
})

test('another branch is fetched, although there is a configuration', async () => {
  const { repository, addWorkspace, request, tokenId, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  repository.git('branch', 'next')
  repository.git('checkout', '--quiet', 'next')
  const sha = repository.commit({ 'next.tf': '' })
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'next' }
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: { 'vcs-repo': vcsRepo } })

  const relationships = { workspace: { data: { id, type: 'workspaces' } } }
  await request('POST', 'runs', { type: 'runs', attributes: {}, relationships })
  await app.runJobs()
  const [run] = await runsOf(id)
  const versionId = run.relationships['configuration-version'].data.id
  const commit = await request('GET', `configuration-versions/${versionId}/ingress-attributes`)

  expect(commit.json().data.attributes).toMatchObject({ 'commit-sha': sha, branch: 'next' })
})

test('a push of the commit of the first run starts no second run', async () => {
  const { addWorkspace, deliver, push, runsOf, decisionsOf } = await connectRepository(app, owner)
  const webhook = push({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()

  await deliver('push', webhook)
  await app.runJobs()

  expect(await runsOf(id)).toHaveLength(1)
  expect(await decisionsOf(id)).toMatchObject([['same-commit', expect.any(String)]])
})

test('all workspaces of a push share one archive', async () => {
  const { addWorkspace, repository, deliver, push, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const workspaces = [await addWorkspace(FIRST_RUN), await addWorkspace(FIRST_RUN)]
  const withSubmodules = await addWorkspace(FIRST_RUN, { 'ingress-submodules': true })
  await app.runJobs()

  await deliver('push', push({ 'main.tf': '# second' }))
  await app.runJobs()
  const keys = await app.db
    .selectFrom('configuration_versions as cv')
    .innerJoin('ingress_attributes as ia', 'ia.id', 'cv.ingress_attributes_id')
    .select(['cv.workspace_id', 'cv.blob_key'])
    .where('ia.commit_sha', '=', repository.git('rev-parse', 'HEAD'))
    .execute()
  const keyOf = (id: string) => keys.find((row) => row.workspace_id === id)?.blob_key
  const [one, other] = workspaces.map(({ id }) => keyOf(id))
  const runs = await Promise.all(workspaces.map(async ({ id }) => runsOf(id)))

  expect(one).toMatch(/^repository-archives\//)
  expect(other).toBe(one)
  expect(keyOf(withSubmodules.id)).not.toBe(one)
  expect(runs.map(([run]) => run.attributes.status)).toEqual(['pending', 'pending'])
})

test('a symbolic link that leads out of the tree is an error that names it', async () => {
  const { repository, addWorkspace, runsOf, request } = await connectRepository(app, owner)
  repository.commit({ 'a.tf': '-> ../../etc/passwd' })

  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  const [run] = await runsOf(id)
  const versionId = run.relationships['configuration-version'].data.id
  const version = (await request('GET', `configuration-versions/${versionId}`)).json().data.attributes

  expect(version).toMatchObject({ status: 'errored', error: 'fetch_failed' })
  expect(version['error-message']).toMatch(/cannot be fetched from acme\/network: .*a\.tf/)
  expect(run.attributes).toMatchObject({ status: 'errored', 'error-message': version['error-message'] })
})

test('a host that is down delays the fetch; after an hour the run ends with the reason', async () => {
  const { repository, addWorkspace, host, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  host.isDown = true

  await app.runJobs()
  const [waiting] = await runsOf(id)
  app.clock.advance(61 * 60_000)
  await app.runJobs()
  const [ended] = await runsOf(id)

  expect(waiting.attributes.status).toBe('fetching')
  expect(waiting.attributes['waiting-reason']).toMatch(/acme\/network: git cannot read .*503; the next attempt is at \d/)
  expect(ended.attributes.status).toBe('errored')
  expect(ended.attributes['error-message']).toContain('cannot be fetched from acme/network: git cannot read')
  expect(ended.attributes['error-message']).toContain('status 503')
  expect(ended.attributes['waiting-reason']).toBeNull()
})

test('a fetch continues when the host is back', async () => {
  const { repository, addWorkspace, host, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  host.isDown = true
  await app.runJobs()
  host.isDown = false

  app.clock.advance(6 * 60_000)
  await app.runJobs()

  expect((await runsOf(id))[0].attributes.status).toBe('plan_queued')
})

test('a branch that does not exist is an error that names it', async () => {
  const { repository, addWorkspace, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN, { branch: 'gone' })

  await app.runJobs()

  const [run] = await runsOf(id)
  expect(run.attributes).toMatchObject({
    status: 'errored',
    'error-message': 'the configuration cannot be fetched from acme/network: it has no branch gone',
  })
})

test('an empty repository is an error at once', async () => {
  const { addWorkspace, runsOf } = await connectRepository(app, owner)
  const { id } = await addWorkspace(FIRST_RUN, { branch: '' })

  await app.runJobs()

  const [run] = await runsOf(id)
  expect(run.attributes).toMatchObject({
    status: 'errored',
    'error-message': 'the configuration cannot be fetched from acme/network: it has no commits',
  })
})

test('a pushed commit that git does not have is an error after a minute', async () => {
  const { repository, addWorkspace, deliver, push, request, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace({ 'file-triggers-enabled': false })
  await app.runJobs()
  await request('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes: FIRST_RUN })
  const webhook = JSON.stringify(push({ 'main.tf': '# second' }))
  const sha = 'e'.repeat(40)

  await deliver('push', JSON.parse(webhook.replaceAll(repository.git('rev-parse', 'HEAD'), sha)))
  await app.runJobs()
  const [waiting] = await runsOf(id)
  app.clock.advance(61_000)
  await app.runJobs()
  const [ended] = await runsOf(id)

  expect(waiting.attributes).toMatchObject({ 'waiting-reason': expect.stringContaining(`has no commit ${sha}`) })
  expect(ended).toMatchObject({ id: waiting.id, attributes: { status: 'errored' } })
})

test('no token is left in the copy of a repository', async () => {
  const { repository, addWorkspace } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  await addWorkspace(FIRST_RUN)

  await app.runJobs()
  const secrets = 's3cret-t0ken|YWRhOnMzY3JldC10MGtlbg'
  const found = spawnSync('grep', ['-rlaE', secrets, app.config.dataDir], { encoding: 'utf8' })

  expect(found).toMatchObject({ status: 1, stdout: '' })
})

test('runs are found by the beginning of their commit', async () => {
  const { organization, repository, addWorkspace, request, runsOf } = await connectRepository(app, owner)
  const sha = repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  const [run] = await runsOf(id)
  const search = async (commit: string) => {
    const query = `search[commit]=${encodeURIComponent(commit)}`
    const lists = [`workspaces/${id}/runs?${query}`, `organizations/${organization}/runs?${query}`]
    const found = await Promise.all(lists.map(async (path) => (await request('GET', path)).json().data))
    return found.map((rows: { id: string }[]) => rows.map((row) => row.id))
  }

  expect(await search(sha)).toEqual([[run.id], [run.id]])
  expect(await search(sha.slice(0, 7).toUpperCase())).toEqual([[run.id], [run.id]])
  expect(await search('%')).toEqual([[], []])
  expect(await search(sha.slice(1, 8))).toEqual([[], []])
})

test('a commit without a message in the webhook has that of git', async () => {
  const { repository, addWorkspace, deliver, openPullRequest, request, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()

  await deliver('pull_request', openPullRequest({ 'database.tf': '' }))
  await app.runJobs()

  const [run] = await runsOf(id)
  const version = `configuration-versions/${run.relationships['configuration-version'].data.id}`
  const commit = (await request('GET', `${version}/ingress-attributes`)).json().data.attributes
  expect(run.attributes).toMatchObject({ message: 'Add a subnet for the database', 'plan-only': true })
  expect(commit['commit-message']).toBe('Change')
})
