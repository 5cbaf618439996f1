import type { GitOperation, GitOperationOf } from '@groundstate/contract/git-operations'
import { expect, test } from 'vitest'
import { USER } from '../testing/git-server.ts'
import { archiveFile, servedRepository, unpacked } from '../testing/served-repository.ts'
import { runGitOperation } from './operations.ts'

const { signal } = new AbortController()

/** A repository, and a function that executes operations in it. */
async function served() {
  const { repository, remote, cacheDir } = await servedRepository()
  const network = { knownHostsFile: '/dev/null' }
  const target = { key: 'acme', url: remote.url, basic: USER }
  const run = async <K extends GitOperation['kind']>(operation: GitOperationOf<K>, file?: string) =>
    runGitOperation<K>({ remote: target, operation, cacheDir, network, signal, ...(file !== undefined && { file }) })
  return { repository, run }
}

test('refs are branches and tags', async () => {
  const { repository, run } = await served()
  const sha = repository.commit({ 'main.tf': '' })
  repository.git('tag', 'v1')

  const refs = await run({ kind: 'refs' })

  expect(refs).toEqual({ defaultBranch: 'main', branches: [{ name: 'main', sha }], tags: [{ name: 'v1', sha }] })
})

test('a commit has a message, an author and a tree', async () => {
  const { repository, run } = await served()
  const sha = repository.commit({ 'main.tf': '' }, 'Add network')

  const commit = await run({ kind: 'commit', commit: { sha, ref: 'refs/heads/main' } })

  const tree = repository.git('rev-parse', 'HEAD^{tree}')
  expect(commit).toEqual({ message: 'Add network', author: { name: 'Ada', email: 'ada@example.com' }, tree })
})

test('two commits are compared by their files', async () => {
  const { repository, run } = await served()
  const from = repository.commit({ 'a.tf': '1', 'b.tf': '1' })
  const sha = repository.commit({ 'a.tf': '2', 'b.tf': null })

  const compared = await run({ kind: 'compare', from, to: { sha, ref: 'refs/heads/main' } })

  expect(compared).toEqual({ changedFiles: ['a.tf', 'b.tf'] })
})

test('more than 300 changed files, or a commit that is gone, cannot be listed', async () => {
  const { repository, run } = await served()
  const from = repository.commit({ 'a.tf': '1' })
  const files = Object.fromEntries(Array.from({ length: 301 }, (_, n) => [`m${n}.tf`, '']))
  const to = { sha: repository.commit(files), ref: 'refs/heads/main' }

  const large = await run({ kind: 'compare', from, to })
  const rewritten = await run({ kind: 'compare', from: 'a'.repeat(40), to })

  expect([large, rewritten]).toEqual([{ changedFiles: null }, { changedFiles: null }])
})

test('a merge has the changes of the head on top of the base', async () => {
  const { repository, run } = await served()
  repository.commit({ 'a.tf': '1', 'b.tf': '1' })
  repository.git('checkout', '--quiet', '-b', 'feature')
  const head = { sha: repository.commit({ 'a.tf': '2' }), ref: 'refs/heads/feature' }
  repository.git('checkout', '--quiet', 'main')
  const base = repository.commit({ 'b.tf': '2' })
  const file = await archiveFile()

  const merge = await run({ kind: 'merge', base: 'main', head })
  const source = { merge: { base: { sha: base, ref: 'refs/heads/main' }, head } }
  const archive = await run({ kind: 'archive', source, submodules: false, maxBytes: 1e6 }, file)

  expect(merge).toMatchObject({ kind: 'merged', base, changedFiles: ['a.tf'] })
  expect(merge).toMatchObject({ tree: archive.tree })
  expect(await unpacked(file)).toEqual({ 'a.tf': '2', 'b.tf': '2' })
})

test('a merge names the files in conflict', async () => {
  const { repository, run } = await served()
  repository.commit({ 'a.tf': '1' })
  repository.git('checkout', '--quiet', '-b', 'feature')
  const head = { sha: repository.commit({ 'a.tf': '2' }), ref: 'refs/heads/feature' }
  repository.git('checkout', '--quiet', 'main')
  repository.commit({ 'a.tf': '3' })

  expect(await run({ kind: 'merge', base: 'main', head })).toEqual({ kind: 'conflict', paths: ['a.tf'] })
  await expect(run({ kind: 'merge', base: 'gone', head })).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('has no branch gone'),
  })
})

test('the log has the latest commits of a branch', async () => {
  const { repository, run } = await served()
  const first = repository.commit({ 'main.tf': '1' }, 'First\n\nwith a body')
  const second = repository.commit({ 'main.tf': '2' }, 'Second')
  repository.git('branch', 'old', first)

  const { commits } = await run({ kind: 'log', branch: null, max: 2 })
  const old = await run({ kind: 'log', branch: 'old', max: 1 })

  const author = { name: 'Ada', email: 'ada@example.com' }
  const authoredAt = '2023-11-14T22:13:20.000Z'
  expect(commits).toEqual([
    { sha: second, message: 'Second', author, authoredAt },
    { sha: first, message: 'First\n\nwith a body', author, authoredAt },
  ])
  expect(old.commits.map(({ sha }) => sha)).toEqual([first])
  await expect(run({ kind: 'log', branch: 'gone', max: 1 })).rejects.toMatchObject({ kind: 'not-found' })
})

test('directories are those of the default branch, or of another', async () => {
  const { repository, run } = await served()
  repository.commit({ 'envs/prod/main.tf': '' })
  repository.git('checkout', '--quiet', '-b', 'next')
  repository.commit({ 'envs/test/main.tf': '' })
  repository.git('checkout', '--quiet', 'main')

  const own = await run({ kind: 'directories', branch: null })
  const next = await run({ kind: 'directories', branch: 'next' })

  expect(own.paths).toEqual(['envs', 'envs/prod'])
  expect(next.paths).toEqual(['envs', 'envs/prod', 'envs/test'])
})
