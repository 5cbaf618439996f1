import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import * as bodies from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { IDENTIFIER, connectRepository } from '../testing/connected-repository.ts'

const app = await createTestApp()
const owner = await createUser(app)

const policies = (query: string): Record<string, string> => ({
  'policies.hcl': `policy "tags" {\n query = "${query}"\n}\n`,
  'tags.rego': 'package tags\n\ndeny := []\n',
})
const inDirectory = (directory: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${directory}/${path}`, content]))

/** A policy set that follows the repository acme/network, which has one commit. */
async function connectPolicySet({ attributes = {}, vcsRepo = {}, files = policies('data.tags.deny') } = {}) {
  const connected = await connectRepository(app, owner)
  const { repository, organization, tokenId, request, reply, server } = connected
  const found = { ...bodies.repository(IDENTIFIER), clone_url: `${server.url}/${IDENTIFIER}.git` }
  reply(`GET /repos/${IDENTIFIER}`, { body: { ...found, default_branch: 'main' } })
  const sha = repository.commit(files)
  const created = await request('POST', `organizations/${organization}/policy-sets`, {
    type: 'policy-sets',
    attributes: {
      name: 'tags',
      kind: 'opa',
      ...attributes,
      'vcs-repo': { identifier: IDENTIFIER, 'oauth-token-id': tokenId, ...vcsRepo },
    },
  })
  expect(created.json()).toMatchObject({ data: { type: 'policy-sets' } })
  await app.runJobs()
  const { id } = created.json().data
  const version = async (which: 'current-version' | 'newest-version' = 'current-version') => {
    const { relationships } = (await request('GET', `policy-sets/${id}`)).json().data
    const related = relationships[which].data
    return related && (await request('GET', `policy-set-versions/${related.id}`)).json().data.attributes
  }
  const publications = async (): Promise<string[]> =>
    (await request('GET', `policy-sets/${id}/publications`))
      .json()
      .data.map(({ attributes: row }: { attributes: Record<string, string> }) => `${row['status']} ${row['reason']}`)
  return { ...connected, id: id as string, sha, version, publications }
}

test('connecting a policy set publishes the tip of its branch', async () => {
  const { version, publications, sha } = await connectPolicySet()

  expect(await version()).toMatchObject({
    status: 'ready',
    source: 'gitea',
    'ingress-attributes': { 'commit-sha': sha, identifier: IDENTIFIER, 'commit-url': expect.stringContaining(sha) },
    policies: [{ name: 'tags', query: 'data.tags.deny' }],
  })
  expect(await publications()).toEqual(['published imported'])
})

test('a push publishes a version; other branches, tags and pull requests do not', async () => {
  const { version, publications, deliver, push, openPullRequest, repository, sha } = await connectPolicySet()
  const tag = { ref: 'refs/tags/v1.0.0', before: bodies.ZEROS, after: sha, commits: [], head_commit: null }
  const webhook = push(policies('data.tags.other'))

  await deliver('push', webhook)
  await deliver('push', { ...webhook, ref: 'refs/heads/next' })
  await deliver('push', bodies.push(tag))
  await deliver('pull_request', openPullRequest({ 'tags.rego': 'package other\n' }))
  await app.runJobs()

  expect(await version()).toMatchObject({
    'ingress-attributes': { 'commit-sha': webhook.after },
    policies: [{ query: 'data.tags.other' }],
  })
  expect((await publications()).toSorted()).toEqual([
    'published imported',
    'published pushed',
    'skipped no-pull-requests',
    'skipped no-tags',
    'skipped other-branch',
  ])
  expect(repository.git('rev-parse', 'main')).toBe(webhook.after)
})

test('only changes below the path of the policies, or that match the patterns, publish a version', async () => {
  const files = inDirectory('policies', policies('data.tags.deny'))
  const attributes = { 'policies-path': '/policies/' }
  const { version, publications, deliver, push, request, id } = await connectPolicySet({ attributes, files })

  await deliver('push', push({ 'README.md': 'docs' }))
  await app.runJobs()
  const first = await version()
  const matching = push(inDirectory('policies', policies('data.tags.other')))
  await deliver('push', matching)
  await app.runJobs()
  const second = await version()
  const patterns = { 'policy-update-patterns': ['lib/**/*.rego'] }
  await request('PATCH', `policy-sets/${id}`, { type: 'policy-sets', attributes: patterns })
  await app.runJobs()
  await deliver('push', push(inDirectory('policies', policies('data.tags.third'))))
  await app.runJobs()

  expect(first['ingress-attributes']['commit-sha']).not.toBe(matching.after)
  expect(second['ingress-attributes']['commit-sha']).toBe(matching.after)
  expect((await publications()).filter((row) => !row.endsWith('same-commit'))).toEqual([
    'skipped no-matching-files',
    'published pushed',
    'skipped no-matching-files',
    'published imported',
  ])
})

test('two pushes at once are published in their order, and a replay of the first changes nothing', async () => {
  const { version, publications, deliver, push, request, organization } = await connectPolicySet()
  const [first, second] = [push(policies('data.tags.first')), push(policies('data.tags.second'))]

  await deliver('push', first)
  app.clock.advance(1000)
  await deliver('push', second)
  await app.runJobs()
  const { data } = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json()
  const replayed = data.find(
    ({ attributes }: { attributes: Record<string, string> }) => attributes['commit-sha'] === first.after,
  )
  app.clock.advance(1000)
  await request('POST', `vcs-deliveries/${replayed.id}/actions/replay`)
  await app.runJobs()

  expect(await version()).toMatchObject({ 'ingress-attributes': { 'commit-sha': second.after } })
  expect(await publications()).toEqual([
    'skipped superseded',
    'published pushed',
    'published pushed',
    'published imported',
  ])
})

test('a push with invalid policies is failed, and the version before stays current', async () => {
  const { version, publications, deliver, push, sha, request, organization } = await connectPolicySet()

  await deliver('push', push({ 'policies.hcl': 'policy "tags" {\n}\n' }))
  await app.runJobs()
  const events = await request('GET', `organizations/${organization}/vcs-events`)

  expect(await version()).toMatchObject({ 'ingress-attributes': { 'commit-sha': sha } })
  expect(await version('newest-version')).toMatchObject({ status: 'errored', error: 'invalid_policies' })
  expect(await publications()).toEqual(['failed failed', 'published imported'])
  expect(JSON.stringify(events.json())).toContain('has no query')
})

test('a branch that does not exist is reported, and a resync publishes it later', async () => {
  const connected = await connectPolicySet({ vcsRepo: { branch: 'stable' } })
  const { version, request, id, organization, repository } = connected

  const before = await version()
  const events = await request('GET', `organizations/${organization}/vcs-events`)
  repository.git('branch', 'stable')
  const resync = await request('POST', `policy-sets/${id}/actions/resync`)
  await app.runJobs()

  expect(before).toBeNull()
  expect(JSON.stringify(events.json())).toContain('it has no branch stable')
  expect(resync.status).toBe(202)
  expect(await version()).toMatchObject({ status: 'ready' })
})

test('another path of the same commit is published, too', async () => {
  const files = { ...policies('data.tags.root'), ...inDirectory('other', policies('data.tags.other')) }
  const { version, request, id } = await connectPolicySet({ files })

  await request('PATCH', `policy-sets/${id}`, { type: 'policy-sets', attributes: { 'policies-path': 'other' } })
  await app.runJobs()

  expect(await version()).toMatchObject({ policies: [{ query: 'data.tags.other' }] })
})
