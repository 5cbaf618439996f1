import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { makeRepository } from '@groundstate/agent/testing/git-server'
import { archiveFile, unpacked } from '@groundstate/agent/testing/served-repository'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { archiveOf, connectRepository } from '../testing/connected-repository.ts'
import { endLostFetches } from './fetch-commit.ts'

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

/** A push that is decided while the host is down, before the tip of the branch is known for a run that waits for it. */
async function pushBeforeTip(connected: Awaited<ReturnType<typeof connectRepository>>, workspaceId: string) {
  const { host, request, deliver, push, runsOf } = connected
  await deliver('push', push({ 'main.tf': '' }))
  await app.runJobs()
  host.isDown = false
  app.clock.advance(6 * 60_000)
  await app.runJobs()
  const [pushed, earlier] = await runsOf(workspaceId)
  const events = (await request('GET', `runs/${earlier.id}/run-events`)).json().data
  const descriptions = events.map(({ attributes }: { attributes: { description: string } }) => attributes.description)
  return { pushed, earlier, descriptions }
}

test('the first run is canceled if a push of its commit was faster', async () => {
  const connected = await connectRepository(app, owner)
  connected.host.isDown = true
  const { id } = await connected.addWorkspace(FIRST_RUN)
  await app.runJobs()

  const { pushed, earlier, descriptions } = await pushBeforeTip(connected, id)

  expect(pushed.attributes.status).toBe('plan_queued')
  expect(earlier.attributes.status).toBe('canceled')
  expect(descriptions).toContain(`${pushed.id} is of the same commit`)
})

test("a person's run of the tip stays, although a push of its commit was faster", async () => {
  const connected = await connectRepository(app, owner)
  connected.host.isDown = true
  const { id } = await connected.addWorkspace()
  const relationships = { workspace: { data: { id, type: 'workspaces' } } }
  await connected.request('POST', 'runs', { type: 'runs', attributes: {}, relationships })
  await app.runJobs()

  const { pushed, earlier } = await pushBeforeTip(connected, id)

  expect(earlier.attributes.status).toBe('plan_queued')
  expect(pushed.attributes.status).toBe('pending')
})

test('workspaces that are created together share the archive of their branch', async () => {
  const { repository, addWorkspace, request, runsOf, tokenId } = await connectRepository(app, owner)
  const sha = repository.commit({ 'main.tf': '' })
  const vcsRepo = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'gone' }
  const [one, two, three] = [
    await addWorkspace(FIRST_RUN),
    await addWorkspace(FIRST_RUN),
    await addWorkspace(FIRST_RUN),
  ]
  await request('PATCH', `workspaces/${three.id}`, { type: 'workspaces', attributes: { 'vcs-repo': vcsRepo } })

  await app.runJobs()
  const runs = await Promise.all([one, two, three].map(async ({ id }) => (await runsOf(id))[0]))
  const commits = await app.db
    .selectFrom('configuration_versions')
    .select(['ingress_attributes_id', 'blob_key'])
    .where('workspace_id', 'in', [one.id, two.id])
    .execute()
  const pushed = await app.db
    .selectFrom('vcs_commit_runs')
    .select('run_id')
    .where('commit_sha', '=', sha)
    .where('workspace_id', 'in', [one.id, two.id])
    .execute()

  expect(runs.map(({ attributes }) => attributes.status)).toEqual(['plan_queued', 'plan_queued', 'errored'])
  expect(runs[2].attributes['error-message']).toContain('it has no branch gone')
  expect(commits[0]).toEqual(commits[1])
  expect(new Set(pushed.map((row) => row.run_id))).toEqual(new Set([runs[0].id, runs[1].id]))
})

test('a commit that another server has set in the meantime stays', async () => {
  const { repository, addWorkspace, host } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  host.isDown = true
  await app.runJobs()
  host.isDown = false
  app.clock.advance(5000)
  const [other] = await app.db.selectFrom('ingress_attributes').selectAll().limit(1).execute()
  if (!other) throw new Error('no other commit is known')
  let jobs: Promise<unknown> = Promise.resolve()
  await app.db.transaction().execute(async (tx) => {
    await tx.selectFrom('workspaces').select('id').where('id', '=', id).forUpdate().execute()
    jobs = app.runJobs()
    const ended = jobs.then(() => true)
    while (!(await Promise.race([ended, countLockWaits(app.db)])));
    const commit = { ingress_attributes_id: other.id }
    await tx.updateTable('configuration_versions').set(commit).where('workspace_id', '=', id).execute()
  })
  await jobs

  const versions = app.db.selectFrom('configuration_versions').select('ingress_attributes_id as id')
  expect(await versions.where('workspace_id', '=', id).execute()).toEqual([{ id: other.id }])
})

test('a branch that disappears while it is read ends no run of another one', async () => {
  const { repository, addWorkspace, host, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  repository.git('checkout', '--quiet', '-b', 'next')
  repository.commit({ 'next.tf': '' })
  repository.git('checkout', '--quiet', 'main')
  const [one, two] = [await addWorkspace(FIRST_RUN), await addWorkspace(FIRST_RUN, { branch: 'next' })]
  let requests = 0
  host.onGit = () => {
    requests += 1
    if (requests !== 3) return
    repository.git('branch', '-D', 'next')
    repository.git('reflog', 'expire', '--expire=now', '--all')
    repository.git('gc', '--prune=now', '--quiet')
  }

  await app.runJobs()
  const [[main], [next]] = [await runsOf(one.id), await runsOf(two.id)]

  expect(main.attributes.status).toBe('plan_queued')
  expect(next.attributes).toMatchObject({
    status: 'errored',
    'error-message': expect.stringContaining('has no commit'),
  })
})

test('a run that is created while a host is down has its own hour', async () => {
  const { repository, addWorkspace, host, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  host.isDown = true
  const one = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  for (let minutes = 0; minutes < 55; minutes += 5) {
    app.clock.advance(5 * 60_000)
    await app.runJobs()
  }
  const two = await addWorkspace(FIRST_RUN)
  await app.runJobs()

  app.clock.advance(6 * 60_000)
  await app.runJobs()
  const [[earlier], [later]] = [await runsOf(one.id), await runsOf(two.id)]

  expect([earlier.attributes.status, later.attributes.status]).toEqual(['errored', 'fetching'])
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

test('the configuration of a fork has no submodules, which could be any repository that the connection may read', async () => {
  const { server, repository, clientId, addWorkspace, request, deliver, openPullRequest, runsOf } =
    await connectRepository(app, owner)
  const modules = makeRepository(server.root, 'acme/modules.git').commit({ 'm.tf': '' })
  repository.addSubmodule('modules', '../modules.git', modules)
  const attributes = { 'fork-plans-enabled': true }
  expect((await request('PATCH', `oauth-clients/${clientId}`, { type: 'oauth-clients', attributes })).status).toBe(200)
  const { id } = await addWorkspace(FIRST_RUN, { 'ingress-submodules': true })
  await app.runJobs()

  await deliver('pull_request', openPullRequest({ 'main.tf': '' }, { repoId: 141 }))
  await app.runJobs()
  const [fork, own] = await runsOf(id)
  const filesOf = async (run: typeof own) =>
    Object.keys(await archiveOf(request, run.relationships['configuration-version'].data.id))

  expect(await filesOf(own)).toContain('modules/m.tf')
  expect(await filesOf(fork)).not.toContain('modules/m.tf')
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
  expect(waiting.attributes['waiting-reason']).toMatch(
    /acme\/network: git cannot read .*503; the next attempt is at \d/,
  )
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

test('a fetch whose job is lost ends after some hours', async () => {
  const { repository, addWorkspace, host, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  host.isDown = true
  await app.runJobs()
  await sql`delete from pgboss.job where state = 'created' and name like 'configurations.%'`.execute(app.db)

  app.clock.advance(5 * 3_600_000)
  await endLostFetches(app.as())
  const [waiting] = await runsOf(id)
  app.clock.advance(3_600_000)
  await endLostFetches(app.as())
  const [ended] = await runsOf(id)

  expect(waiting.attributes.status).toBe('fetching')
  expect(ended.attributes).toMatchObject({
    status: 'errored',
    'error-message': 'the configuration was not fetched within 6 hours: start a new run',
  })
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

test('a commit without a message in the webhook has that of git, and so has its run', async () => {
  const { addWorkspace, deliver, push, request, runsOf } = await connectRepository(app, owner)
  push({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  const webhook = push({ 'main.tf': '# second' }, 'Change network')
  const silent = { id: webhook.after, message: '', url: '' }

  await deliver('push', { ...webhook, head_commit: silent, commits: [silent] })
  await app.runJobs()

  const [run] = await runsOf(id)
  const found = (await request('GET', `workspaces/${id}/runs?search[basic]=network`)).json().data
  const version = `configuration-versions/${run.relationships['configuration-version'].data.id}`
  const commit = (await request('GET', `${version}/ingress-attributes`)).json().data.attributes
  expect(run.attributes.message).toBe('Change network')
  expect(found.map((one: { id: string }) => one.id)).toEqual([run.id])
  expect(commit['commit-message']).toBe('Change network')
})

test('the plan of a pull request has its title as its message, and the commit that of git', async () => {
  const { repository, addWorkspace, deliver, openPullRequest, request, runsOf } = await connectRepository(app, owner)
  repository.commit({ 'main.tf': '' })
  const { id } = await addWorkspace(FIRST_RUN)
  await app.runJobs()
  const webhook = openPullRequest({ 'database.tf': '' })

  await deliver('pull_request', webhook)
  await app.runJobs()

  const [run] = await runsOf(id)
  const version = `configuration-versions/${run.relationships['configuration-version'].data.id}`
  const commit = (await request('GET', `${version}/ingress-attributes`)).json().data.attributes
  expect(run.attributes).toMatchObject({ message: webhook.pull_request.title, 'plan-only': true })
  expect(commit['commit-message']).toBe('Change')
})
