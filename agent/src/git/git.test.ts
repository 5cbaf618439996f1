import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { USER, serveGit } from '../testing/git-server.ts'
import { archiveFile, remoteOf, servedRepository, unpacked } from '../testing/served-repository.ts'
import { writeArchive } from './archive.ts'
import { GIT_LIMITS } from './command.ts'
import { listRefs } from './refs.ts'
import { commitInfo, fetchCommit, mergeBase } from './repository.ts'
import { changedFiles, listDirectories, mergeTrees, readFileAt } from './trees.ts'

const { signal } = new AbortController()

describe('refs', () => {
  test('branches, tags and refs of pull requests are listed', async () => {
    const { repository, remote } = await servedRepository()
    const first = repository.commit({ 'main.tf': '1' })
    repository.git('tag', '--annotate', '--message', 'One', 'v1')
    repository.git('branch', 'feature/x')
    const second = repository.commit({ 'main.tf': '2' })
    repository.git('update-ref', 'refs/pull/7/head', first)

    const refs = await listRefs({ remote, signal, patterns: ['refs/pull/*/head'] })

    expect(refs).toEqual({
      head: 'main',
      branches: new Map([
        ['feature/x', first],
        ['main', second],
      ]),
      tags: new Map([['v1', first]]),
      others: new Map([['refs/pull/7/head', first]]),
    })
  })

  test('an empty repository has none', async () => {
    const { remote } = await servedRepository()

    expect(await listRefs({ remote, signal })).toMatchObject({ head: null, branches: new Map() })
  })

  test('a page is not an empty repository', async () => {
    const { remote } = await servedRepository({
      intercept: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>')
        return true
      },
    })

    await expect(listRefs({ remote, signal })).rejects.toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('not as a git server'),
    })
  })

  test('a wrong password is refused, without repeating it', async () => {
    const { remote } = await servedRepository()
    const credential = { basic: { username: 'ada', password: 'wr0ng-t0ken' } }

    const error = await listRefs({ remote: { ...remote, credential }, signal }).catch((error: unknown) => error)

    expect(error).toMatchObject({ kind: 'unauthorised', message: expect.stringContaining('refused the user name') })
    expect(JSON.stringify(error) + String(error)).not.toContain('wr0ng')
  })

  test('a missing repository is not found', async () => {
    const { server } = await servedRepository()

    const listing = listRefs({ remote: remoteOf(`${server.url}/acme/missing`), signal })

    await expect(listing).rejects.toMatchObject({ kind: 'not-found' })
  })

  test('a host without a server is unreachable', async () => {
    const listing = listRefs({ remote: remoteOf('http://127.0.0.1:1/acme/network'), signal })

    await expect(listing).rejects.toMatchObject({ kind: 'unreachable' })
  })

  test('a host that does not answer times out', async () => {
    const { remote } = await servedRepository({ intercept: () => true })
    const limits = { ...GIT_LIMITS, idleMs: 1000 }

    await expect(listRefs({ remote, signal, limits })).rejects.toMatchObject({ kind: 'timed-out' })
  })

  test('an abort ends git, whose arguments have no credentials', async () => {
    const stop = new AbortController()
    const commands: string[] = []
    const { remote } = await servedRepository({
      intercept: () => {
        commands.push(...commandLines())
        stop.abort(new Error('the job was canceled'))
        return true
      },
    })

    await expect(listRefs({ remote, signal: stop.signal })).rejects.toThrow('the job was canceled')

    const own = commands.filter((line) => line.includes('ls-remote'))
    expect(own).not.toEqual([])
    expect(commands.join()).not.toContain(Buffer.from(`${USER.username}:${USER.password}`).toString('base64'))
    expect(commands.join()).not.toContain(USER.password)
    expect(commandLines().filter((line) => own.includes(line) && line.includes(remote.url))).toEqual([])
  })
})

function commandLines() {
  const found = execFileSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0\\n" "  " ; true'], {
    encoding: 'utf8',
  })
  return found.split(/(?=\bgit )/)
}

describe('redirects', () => {
  const moved = (to: (path: string) => string) => ({
    intercept: (request: { url?: string }, response: any) => {
      if (!request.url?.startsWith('/former/')) return false
      response.writeHead(301, { location: to(request.url) }).end()
      return true
    },
  })

  test('to a new name on the same host is followed', async () => {
    const { server, repository, open } = await servedRepository(moved((path) => path.replace('/former/', '/acme/')))
    const sha = repository.commit({ 'main.tf': '' })
    const remote = remoteOf(`${server.url}/former/network`)

    const refs = await listRefs({ remote, signal })
    await using opened = await open({ remote })
    await fetchCommit(opened, sha)

    expect(refs.branches.get('main')).toBe(sha)
    expect((await commitInfo(opened, sha)).sha).toBe(sha)
  })

  test('to another host is refused', async () => {
    const other = await serveGit()
    const { server } = await servedRepository(moved((path) => other.url + path))

    const listing = listRefs({ remote: remoteOf(`${server.url}/former/network`), signal })

    await expect(listing).rejects.toMatchObject({ kind: 'unreachable', message: expect.stringContaining('redirects') })
    expect(other.requests).toEqual([])
  })
})

describe('addresses', () => {
  test('git connects to the address that was checked', async () => {
    const { server, repository } = await servedRepository()
    const sha = repository.commit({ 'main.tf': '' })
    const network = { knownHostsFile: '/dev/null', checkAddress: () => Promise.resolve(['127.0.0.1']) }
    const remote = remoteOf(`http://repositories.invalid:${server.port}/acme/network`, { network })

    expect((await listRefs({ remote, signal })).branches.get('main')).toBe(sha)
  })

  test('an address that is not allowed gets no connection', async () => {
    const { server, remote } = await servedRepository()
    const checkAddress = () => Promise.reject(new Error('127.0.0.1 is a loopback address'))
    const network = { ...remote.network, checkAddress }

    const listing = listRefs({ remote: { ...remote, network }, signal })

    await expect(listing).rejects.toMatchObject({ kind: 'unreachable', message: expect.stringContaining('loopback') })
    expect(server.requests).toEqual([])
  })
})

describe('content', () => {
  test('a commit is described', async () => {
    const { repository, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': '' }, 'Add a network\n\nFor Zoë.')

    await using opened = await open()
    await fetchCommit(opened, sha)

    expect(await commitInfo(opened, sha)).toEqual({
      sha,
      tree: repository.git('rev-parse', 'HEAD^{tree}'),
      message: 'Add a network\n\nFor Zoë.',
      author: { name: 'Ada', email: 'ada@example.com', at: new Date(1_700_000_000_000) },
    })
  })

  test('a commit that does not exist is not found', async () => {
    const { repository, open } = await servedRepository()
    repository.commit({ 'main.tf': '' })

    await using opened = await open()

    await expect(fetchCommit(opened, 'a'.repeat(40))).rejects.toMatchObject({ kind: 'not-found' })
    await expect(fetchCommit(opened, 'a'.repeat(40), 'refs/heads/main')).rejects.toMatchObject({ kind: 'not-found' })
    await expect(fetchCommit(opened, 'a'.repeat(40), 'refs/heads/gone')).rejects.toMatchObject({ kind: 'not-found' })
  })

  test('a commit that was not fetched is not found', async () => {
    const { repository, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': '' })
    const other = 'a'.repeat(40)

    await using opened = await open()
    await fetchCommit(opened, sha)

    const results = await Promise.allSettled([
      commitInfo(opened, other),
      mergeBase(opened, sha, other),
      mergeTrees(opened, { base: sha, head: other }),
      changedFiles(opened, { from: other, to: sha, max: 1 }),
      listDirectories(opened, other),
      readFileAt(opened, { tree: other, path: 'main.tf', maxBytes: 1 }),
    ])

    const reason = { kind: 'not-found', message: expect.stringContaining(other) }
    expect(results).toMatchObject(results.map(() => ({ status: 'rejected', reason })))
  })

  test('changed files are listed up to a limit', async () => {
    const { repository, open } = await servedRepository()
    const from = repository.commit({ 'a.tf': '1', 'b.tf': '1', 'c/d é.tf': '1' })
    const to = repository.commit({ 'a.tf': null, 'c/d é.tf': '2', 'e.tf': '3' })

    await using opened = await open()
    await fetchCommit(opened, to)

    expect(await changedFiles(opened, { from, to, max: 3 })).toEqual({
      paths: ['a.tf', 'c/d é.tf', 'e.tf'],
      isComplete: true,
    })
    expect(await changedFiles(opened, { from, to, max: 2 })).toEqual({ paths: ['a.tf', 'c/d é.tf'], isComplete: false })
  })

  test('directories and files can be read', async () => {
    const { repository, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': 'root', 'modules/vpc/main.tf': 'vpc', link: '-> main.tf' })

    await using opened = await open()
    await fetchCommit(opened, sha)
    const read = (path: string, maxBytes = 100) => readFileAt(opened, { tree: sha, path, maxBytes })

    expect(await listDirectories(opened, sha)).toEqual(['modules', 'modules/vpc'])
    expect(String(await read('modules/vpc/main.tf'))).toBe('vpc')
    for (const path of ['missing.tf', 'modules', 'link', '../main.tf', '-r']) expect(await read(path)).toBeUndefined()
    await expect(read('main.tf', 3)).rejects.toMatchObject({ kind: 'too-large' })
  })

  test('only the files of the archived commit are fetched, in one request', async () => {
    const { server, repository, open, cacheDir } = await servedRepository()
    const former = 'former content '.repeat(1000)
    repository.commit({ 'main.tf': former })
    const files = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`file-${n}.tf`, `content ${n}`]))
    const sha = repository.commit({ ...files, 'main.tf': 'present' })
    const file = await archiveFile()

    await using opened = await open()
    await fetchCommit(opened, sha)
    const before = server.requests.length
    await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10 ** 6, file })

    expect(Object.keys(await unpacked(file))).toHaveLength(51)
    expect(server.requests.length - before).toBeLessThanOrEqual(4)
    const entry = (await readdir(cacheDir)).find((name) => name.length === 40) ?? ''
    const check = execFileSync('git', [
      '--git-dir',
      join(cacheDir, entry, 'git'),
      'cat-file',
      '--batch-check',
      '--batch-all-objects',
    ])
    expect(String(check)).not.toContain(`blob ${former.length}`)
  })
})

describe('merges', () => {
  test('the result of a merge is archived', async () => {
    const { repository, open } = await servedRepository()
    const common = repository.commit({ 'main.tf': 'a\nb\nc\nd\ne\n' })
    repository.git('checkout', '--quiet', '-b', 'feature')
    const head = repository.commit({ 'main.tf': 'a\nb\nc\nd\nE\n', 'new.tf': 'new' })
    repository.git('checkout', '--quiet', 'main')
    const base = repository.commit({ 'main.tf': 'A\nb\nc\nd\ne\n' })
    const file = await archiveFile()

    await using opened = await open()
    for (const sha of [base, head]) await fetchCommit(opened, sha)
    const merge = await mergeTrees(opened, { base, head })
    const tree = merge.kind === 'merged' ? merge.tree : ''
    await writeArchive(opened, { tree, submodules: false, maxBytes: 10 ** 6, file })

    expect(await mergeBase(opened, base, head)).toBe(common)
    expect(await unpacked(file)).toEqual({ 'main.tf': 'A\nb\nc\nd\nE\n', 'new.tf': 'new' })
    repository.git('merge', '--quiet', '--no-edit', 'feature')
    expect(tree).toBe(repository.git('rev-parse', 'HEAD^{tree}'))
  })

  test('a conflict names the paths', async () => {
    const { repository, open } = await servedRepository()
    repository.commit({ 'main.tf': 'a\n', 'b.tf': 'b\n' })
    repository.git('checkout', '--quiet', '-b', 'feature')
    const head = repository.commit({ 'main.tf': 'feature\n' })
    repository.git('checkout', '--quiet', 'main')
    const base = repository.commit({ 'main.tf': 'main\n', 'b.tf': 'B\n' })

    await using opened = await open()
    for (const sha of [base, head]) await fetchCommit(opened, sha)

    expect(await mergeTrees(opened, { base, head })).toEqual({ kind: 'conflict', paths: ['main.tf'] })
  })

  test('commits without a common ancestor cannot be merged', async () => {
    const { repository, open } = await servedRepository()
    const base = repository.commit({ 'main.tf': 'a\n' })
    repository.git('checkout', '--quiet', '--orphan', 'other')
    const head = repository.commit({ 'other.tf': 'b\n' })

    await using opened = await open()
    for (const sha of [base, head]) await fetchCommit(opened, sha)

    expect(await mergeBase(opened, base, head)).toBeNull()
    await expect(mergeTrees(opened, { base, head })).rejects.toMatchObject({ kind: 'conflict' })
  })
})
