import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { archiveFile, unpacked } from '@groundstate/agent/testing/served-repository'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import * as bodies from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { IDENTIFIER, connectRepository } from '../testing/connected-repository.ts'
import { resumePublications } from './publish.ts'

const app = await createTestApp()
const owner = await createUser(app)

/** A module from the repository acme/network, which has a commit with the given tags. */
async function connectModule({ tags = [] as string[], attributes = {}, vcsRepo = {}, files = {} } = {}) {
  const connected = await connectRepository(app, owner)
  const { repository, organization, tokenId, request } = connected
  const sha = repository.commit({ 'main.tf': '# first', ...files })
  for (const tag of tags) repository.git('tag', tag)
  const created = await request('POST', `organizations/${organization}/registry-modules/vcs`, {
    type: 'registry-modules',
    attributes: {
      name: 'network',
      provider: 'aws',
      ...attributes,
      'vcs-repo': { identifier: IDENTIFIER, 'oauth-token-id': tokenId, ...vcsRepo },
    },
  })
  expect(created.status).toBe(201)
  await app.runJobs()
  const { id } = created.json().data
  const address = `organizations/${organization}/registry-modules/private/${organization}/network/aws`
  const read = async () => (await request('GET', address)).json().data.attributes
  const publications = async (of = `registry-modules/${id}`): Promise<string[][]> =>
    (await request('GET', `${of}/publications`))
      .json()
      .data.map(({ attributes: row }: { attributes: Record<string, string> }) => [
        row['status'],
        row['reason'],
        row['description'],
      ])
  const tagged = (name: string, after: string) =>
    bodies.push({ ref: `refs/tags/${name}`, before: bodies.ZEROS, after, commits: [], head_commit: null })
  return { ...connected, id: id as string, sha, address, read, publications, tagged }
}

const byReason = (rows: string[][]) => rows.toSorted((a, b) => String(a[1]).localeCompare(String(b[1])))

const statusesOf = ({ 'version-statuses': statuses }: Record<string, { version: string; status: string }[]>) =>
  statuses?.map(({ version, status }) => `${version} ${status}`)

test('connecting a module publishes the tags that are versions, with their commits', async () => {
  const { read, publications, request, address, sha } = await connectModule({ tags: ['v1.0.0', '1.1.0', 'latest'] })

  const module = await read()
  const version = await request('GET', `${address}/version?module_version=1.1.0`)

  expect(module.status).toBe('setup_complete')
  expect(statusesOf(module)).toEqual(['1.1.0 ok', '1.0.0 ok'])
  expect(version.json().data.attributes).toMatchObject({ source: 'vcs', 'commit-sha': sha })
  expect(await publications()).toEqual([
    ['published', 'imported', 'imported from tag v1.0.0'],
    ['published', 'imported', 'imported from tag 1.1.0'],
  ])
})

test('a repository whose name is none of a module needs one', async () => {
  const { organization, tokenId, request } = await connectRepository(app, owner)
  const attributes = { 'vcs-repo': { identifier: 'acme/terraform-aws-my.network', 'oauth-token-id': tokenId } }

  const type = 'registry-modules'
  const refused = await request('POST', `organizations/${organization}/registry-modules/vcs`, { type, attributes })

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/name')
})

test('a repository without version tags leaves the module without versions, and says so', async () => {
  const { read } = await connectModule({ tags: ['latest'] })

  expect(await read()).toMatchObject({ status: 'no_version_tags', 'version-statuses': [] })
})

test('a new tag publishes a version; a tag that moves, is deleted or is no version changes nothing', async () => {
  const connected = await connectModule({ tags: ['v1.0.0'] })
  const { repository, deliver, tagged, read, publications, request, organization, id } = connected
  const second = repository.commit({ 'main.tf': '# second' })
  for (const tag of ['v1.1.0', 'latest']) repository.git('tag', tag)

  for (const tag of ['v1.1.0', 'latest', 'v1.0.0']) await deliver('push', tagged(tag, second))
  await deliver('push', { ...tagged('v1.1.0', bodies.ZEROS), before: second })
  await app.runJobs()
  const deliveries = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json().data
  const ofDeliveries = await Promise.all(
    deliveries.map(async (delivery: { id: string }) => publications(`vcs-deliveries/${delivery.id}`)),
  )
  const events = await request('GET', `organizations/${organization}/vcs-events`)

  expect(statusesOf(await read())).toEqual(['1.1.0 ok', '1.0.0 ok'])
  expect(byReason((await publications()).slice(0, 4))).toEqual(byReason(ofDeliveries.flat()))
  expect(byReason(ofDeliveries.flat())).toEqual([
    ['skipped', 'no-version', 'the tag is not a version: expected 1.2.0 or v1.2.0'],
    ['skipped', 'tag-deleted', 'the tag was deleted: published versions stay'],
    ['skipped', 'tag-moved', 'version 1.0.0 was published from another commit, and a published version never changes'],
    ['published', 'tagged', 'tag v1.1.0'],
  ])
  expect(JSON.stringify(events.json())).toContain(`moved to ${second}`)
  expect(id).toMatch(/^mod-/)
})

test('without a branch, tags publish a module, also for clients that send false for an absent setting', async () => {
  const { read, request, address } = await connectModule({ tags: ['v1.0.0'], vcsRepo: { tags: false } })
  const update = async (vcsRepo: object) =>
    request('PATCH', address, { type: 'registry-modules', attributes: { 'vcs-repo': vcsRepo } })

  const created = await read()
  const refused = await update({ tags: false })
  const followed = await update({ branch: 'main', tags: false })
  const returned = await update({ branch: '', tags: false })

  expect(created['publishing-mechanism']).toBe('git_tag')
  expect(statusesOf(created)).toEqual(['1.0.0 ok'])
  expect(refused.json().errors[0].detail).toBe('branch is missing: without tags, a branch publishes')
  expect([followed, returned].map((response) => response.json().data.attributes['publishing-mechanism'])).toEqual([
    'branch',
    'git_tag',
  ])
})

test('a monorepo publishes a directory by the tags with its prefix', async () => {
  const files = { 'modules/vpc/main.tf': '# vpc', 'README.md': '' }
  const vcsRepo = { tags: true, 'source-directory': './modules/vpc/', 'tag-prefix': 'vpc-' }
  const { read, organization } = await connectModule({ tags: ['vpc-v1.0.0', 'v9.0.0'], vcsRepo, files })

  const url = `/api/registry/v1/modules/${organization}/network/aws/1.0.0/download`
  const { headers } = await app.request({ method: 'GET', url, token: owner.token })
  const { pathname } = new URL(String(headers['x-terraform-get']), 'http://localhost')
  const archive = await app.request({ method: 'GET', url: pathname })

  expect(statusesOf(await read())).toEqual(['1.0.0 ok'])
  expect(archive.status).toBe(200)
  const file = await archiveFile()
  await writeFile(file, archive.bytes)
  expect(await unpacked(file)).toEqual({ 'main.tf': '# vpc' })
})

test('a version whose directory is missing says so, and a later resync publishes it', async () => {
  const vcsRepo = { 'source-directory': 'modules/vpc' }
  const connected = await connectModule({ tags: ['v1.0.0'], vcsRepo })
  const { read, request, id, repository } = connected

  const before = await read()
  const sha = repository.commit({ 'modules/vpc/main.tf': '' })
  repository.git('tag', '--force', 'v1.0.0', sha)
  const resync = await request('POST', `registry-modules/${id}/actions/resync`)
  await app.runJobs()

  expect(before['version-statuses']).toEqual([
    { version: '1.0.0', status: 'clone_failed', error: expect.stringContaining('no directory "modules/vpc"') },
  ])
  expect(resync.status).toBe(202)
  expect(statusesOf(await read())).toEqual(['1.0.0 ok'])
})

test('a commit of the branch becomes the version that is created for it', async () => {
  const connected = await connectModule({
    attributes: { 'initial-version': '0.1.0' },
    vcsRepo: { branch: 'main' },
  })
  const { read, request, address, repository, deliver, push, publications } = connected
  const sha = repository.commit({ 'main.tf': '# second' })
  const create = async (attributes: object) =>
    request('POST', `${address}/versions`, { type: 'registry-module-versions', attributes })

  const created = await create({ version: '0.2.0', 'commit-sha': sha })
  await deliver('push', push({ 'main.tf': '# third' }))
  await app.runJobs()

  expect(created.status).toBe(201)
  expect(created.json().data.links.upload).toBeUndefined()
  expect(statusesOf(await read())).toEqual(['0.2.0 ok', '0.1.0 ok'])
  expect((await publications()).map(([, reason]) => reason)).toEqual(['publishes-commits', 'requested', 'imported'])
  expect((await create({ version: '0.3.0' })).json().errors[0]).toMatchObject({
    detail: expect.stringContaining('commit-sha is missing'),
    source: { pointer: '/data/attributes/commit-sha' },
  })
  expect((await create({ version: '0.3.0', 'commit-sha': sha.slice(0, 8) })).status).toBe(422)
})

test('the latest commits of the branch are listed, for those who publish', async () => {
  const connected = await connectModule({ vcsRepo: { branch: 'main' } })
  const { repository, address, request, organization, organizationId, sha, read } = connected
  const latest = repository.commit({ 'main.tf': '# second' }, 'Add a second line')
  const uploaded = { type: 'registry-modules', attributes: { name: 'uploaded', provider: 'aws' } }
  await request('POST', `organizations/${organization}/registry-modules`, uploaded)
  const member = await createUser(app)
  await addMember(app, organizationId, member)

  const response = await request('GET', `${address}/commits`)
  const refused = await app.request({ url: `/api/v2/${address}/commits`, token: member.token })
  const without = await request('GET', `${address.replace('/network/', '/uploaded/')}/commits`)

  expect(response.status).toBe(200)
  expect((await read())['vcs-repo']['webhook-url']).toMatch(/\/webhooks\/vcs\/[0-9a-f-]{36}$/)
  expect(response.json().data.map(({ id }: { id: string }) => id)).toEqual([latest, sha])
  expect(response.json().data[0]).toMatchObject({
    type: 'commit',
    attributes: { sha: latest, author: 'Ada', message: 'Add a second line', date: '2023-11-14T22:13:20.000Z' },
  })
  expect([refused.status, without.status]).toEqual([404, 404])
})

test('a commit that does not exist fails its version, by name', async () => {
  const { read, request, address } = await connectModule({ vcsRepo: { branch: 'main' } })
  const attributes = { version: '0.2.0', 'commit-sha': 'a'.repeat(40) }

  await request('POST', `${address}/versions`, { type: 'registry-module-versions', attributes })
  await app.runJobs()
  app.clock.advance(120_000)
  await app.runJobs()

  expect((await read())['version-statuses'][0]).toMatchObject({
    status: 'clone_failed',
    error: expect.stringContaining('a'.repeat(40)),
  })
})

test('a repository that does not exist fails the module, by name', async () => {
  const { read, request, organization } = await connectModule({ vcsRepo: { identifier: 'acme/gone' } })
  const before = await read()
  for (let attempt = 0; attempt < 3; attempt += 1) {
    app.clock.advance(61_000)
    await app.runJobs()
  }

  const events = await request('GET', `organizations/${organization}/vcs-events`)

  expect([before.status, (await read()).status]).toEqual(['pending', 'setup_failed'])
  expect(JSON.stringify(events.json())).toContain('module network cannot be published from acme/gone')
})

test('a host that is down is asked later', async () => {
  const connected = await connectModule({ tags: ['v1.0.0'] })
  const { host, repository, deliver, tagged, read, publications } = connected
  const sha = repository.commit({ 'main.tf': '# second' })
  repository.git('tag', 'v1.1.0')
  host.isDown = true

  await deliver('push', tagged('v1.1.0', sha))
  await app.runJobs()
  const delayed = await publications()
  host.isDown = false
  app.clock.advance(6 * 60_000)
  await app.runJobs()

  expect(delayed[0]?.[0]).toBe('pending')
  expect(statusesOf(await read())).toEqual(['1.1.0 ok', '1.0.0 ok'])
})

test('a tag whose files cannot be a module fails by name, and leaves nothing', async () => {
  const { repository, deliver, tagged, read } = await connectModule({ tags: ['v1.0.0'] })
  const escaping = repository.commit({ 'modules/link': '-> ../../etc/passwd' })
  repository.git('tag', 'v1.1.0')
  const lines = Array.from({ length: 100_001 }, (_, n) => `M 100644 :1 d${n % 300}/${n}.tf\n`).join('')
  const author = 'committer mona <mona@example.com> 0 +0000\ndata 0\n\n'
  const input = `blob\nmark :1\ndata 1\n\n\ncommit refs/heads/many\n${author}${lines}\ndone\n`
  execFileSync('git', ['-C', repository.directory, 'fast-import', '--quiet', '--done'], { input })
  repository.git('tag', 'v1.2.0', 'many')

  await deliver('push', tagged('v1.1.0', escaping))
  await deliver('push', tagged('v1.2.0', repository.git('rev-parse', 'many')))
  await app.runJobs()

  expect(await read()).toMatchObject({
    status: 'setup_complete',
    'version-statuses': [
      { version: '1.2.0', status: 'clone_failed', error: expect.stringContaining('more than 100000') },
      { version: '1.1.0', status: 'clone_failed', error: expect.stringContaining('links out of the archive') },
      { version: '1.0.0', status: 'ok' },
    ],
  })
}, 60_000)

test('a job that died after it published a version is not published again', async () => {
  const { repository, deliver, tagged, read, publications } = await connectModule({ tags: ['v1.0.0'] })
  const sha = repository.commit({ 'main.tf': '# second' })
  repository.git('tag', 'v1.1.0')
  await sql`alter table vcs_publications add constraint broken check (status <> 'published') not valid`.execute(app.db)

  await deliver('push', tagged('v1.1.0', sha))
  await app.runJobs()
  const interrupted = await publications()
  await sql`alter table vcs_publications drop constraint broken`.execute(app.db)
  app.clock.advance(3 * 3_600_000)
  await resumePublications(app.as())
  await app.runJobs()

  expect(interrupted[0]?.slice(0, 2)).toEqual(['pending', 'tagged'])
  expect(statusesOf(await read())).toEqual(['1.1.0 ok', '1.0.0 ok'])
  expect((await publications())[0]?.slice(0, 2)).toEqual(['published', 'tagged'])
})

test('a delivery is published once, also if it is repeated, replayed, or its job runs again', async () => {
  const { repository, deliver, tagged, read, publications, request, organization } = await connectModule({
    tags: ['v1.0.0'],
  })
  const sha = repository.commit({ 'main.tf': '# second' })
  repository.git('tag', 'v1.1.0')

  for (const id of ['same', 'same', 'other']) await deliver('push', tagged('v1.1.0', sha), { id })
  await app.runJobs()
  const [delivery] = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json().data
  await request('POST', `vcs-deliveries/${delivery.id}/actions/replay`)
  await app.runJobs()

  expect(statusesOf(await read())).toEqual(['1.1.0 ok', '1.0.0 ok'])
  expect((await publications()).map(([status, reason]) => `${status} ${reason}`)).toEqual([
    'skipped already-published',
    'skipped already-published',
    'published tagged',
    'published imported',
  ])
})

test('the webhook of a repository is created for a module, and removed with the last user', async () => {
  const { address, request, tokenId, addWorkspace } = await connectModule({ tags: ['v1.0.0'] })
  const repositories = async () =>
    app.db.selectFrom('repositories').select('identifier').where('oauth_token_id', '=', tokenId).execute()
  const workspace = await addWorkspace()
  await app.runJobs()

  await request('DELETE', `workspaces/${workspace.id}`)
  await app.runJobs()
  const withModule = await repositories()
  await request('DELETE', address)
  await app.runJobs()

  expect(withModule).toHaveLength(1)
  expect(await repositories()).toEqual([])
})
