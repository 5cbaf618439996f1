import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { USER, makeRepository } from '../testing/git-server.ts'
import { remoteOf, servedRepository } from '../testing/served-repository.ts'
import { writeArchive } from './archive.ts'
import { entryOf, evictRepositories, lockEntry } from './cache.ts'
import { GIT_LIMITS } from './command.ts'
import { type OpenRepository, commitInfo, fetchCommit } from './repository.ts'

/** Another process that opens the repository and fetches a commit, which it reports. It closes the repository at the end of its input. */
function otherProcess(input: Pick<OpenRepository, 'cacheDir' | 'remote'>, sha: string) {
  const script = `
    import { once } from 'node:events'
    const { fetchCommit, openRepository } = await import(${JSON.stringify(join(import.meta.dirname, 'repository.ts'))})
    const { signal } = new AbortController()
    const repository = await openRepository({ ...JSON.parse(process.env.INPUT), key: 'acme', signal })
    await fetchCommit(repository, process.argv[1])
    process.stdout.write('fetched')
    await once(process.stdin.resume(), 'end')
    await repository[Symbol.asyncDispose]()
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, sha], {
    // Not an argument: another test looks for the password in those of all processes.
    env: { ...process.env, INPUT: JSON.stringify(input) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Private directories of processes that use git. */
async function privateDirectories(pid: number) {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('groundstate-git-') && name.includes(`-${pid}-`))
}

const packDirectory = async (cacheDir: string) => {
  const names = await readdir(cacheDir, { recursive: true })
  return join(cacheDir, names.find((name) => name.endsWith('objects/pack')) ?? 'none')
}

describe('locks', () => {
  test('a repository is used once at a time in a process', async () => {
    const { open } = await servedRepository()
    const first = await open()

    await expect(open({ signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout')
    const waiting = [open(), open()]
    await first[Symbol.asyncDispose]()

    for (const each of waiting) await (await each)[Symbol.asyncDispose]()
  })

  test('a repository is used by one process at a time', async () => {
    const { repository, cacheDir, remote, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': '' })
    const other = otherProcess({ cacheDir, remote }, sha)
    await once(other.stdout, 'data')

    await expect(open({ signal: AbortSignal.timeout(500) })).rejects.toThrow('timeout')
    other.stdin.end()

    await using opened = await open()
    expect((await commitInfo(opened, sha)).sha).toBe(sha)
  })

  test('a process that is killed while it fetches leaves nothing in the way', async () => {
    let holdAfter = 200_000
    const { repository, cacheDir, remote, open, server } = await servedRepository({ holdAfter: () => holdAfter })
    repository.git('config', 'uploadpack.allowFilter', 'false')
    const sha = repository.commit({ 'large.bin': randomBytes(1_000_000) })
    const other = otherProcess({ cacheDir, remote }, sha)
    await expect
      .poll(async () => (await readdir(await packDirectory(cacheDir)).catch(() => [])).join())
      .toContain('tmp_pack')
    other.kill('SIGKILL')
    await once(other, 'exit')
    expect(await privateDirectories(other.pid ?? 0)).toHaveLength(1)
    // Of a process in another container, whose id means nothing here.
    const elsewhere = await mkdtemp(join(tmpdir(), `groundstate-git-${'0'.repeat(16)}-1-1-`))
    onTestFinished(() => rm(elsewhere, { recursive: true }))
    holdAfter = Infinity

    await using opened = await open()
    await fetchCommit(opened, sha)

    expect((await commitInfo(opened, sha)).sha).toBe(sha)
    expect(await privateDirectories(other.pid ?? 0)).toEqual([])
    expect(await readdir(elsewhere)).toEqual([])
    expect((await readdir(await packDirectory(cacheDir))).join()).not.toContain('tmp_pack')
    expect(server.requests.length).toBeGreaterThan(0)
  })
})

describe('limits', () => {
  test('a repository that is removed from the cache is not used meanwhile', async () => {
    const cacheDir = await temporaryDirectory()
    const entry = entryOf(cacheDir, 'acme')
    const packs = join(entry, 'git/objects/pack')
    await mkdir(packs, { recursive: true })
    for (let index = 0; index < 3000; index += 1) await writeFile(join(packs, `${index}.pack`), 'pack')
    const evicting = evictRepositories(cacheDir, 0)
    await expect.poll(async () => (await readdir(entry)).join(), { interval: 1 }).toContain('.pid')

    await using _ = await lockEntry(entry, new AbortController().signal)

    const locked = await readdir(entry)
    await evicting
    expect(await readdir(entry)).toEqual(locked)
  })

  test('a repository that is too large is detected while it is fetched', async () => {
    const { repository, cacheDir, open } = await servedRepository({ holdAfter: () => 1_500_000 })
    repository.git('config', 'uploadpack.allowFilter', 'false')
    const sha = repository.commit({ 'large.bin': randomBytes(3_000_000) })

    await using opened = await open({ limits: { ...GIT_LIMITS, repositoryBytes: 500_000 } })

    await expect(fetchCommit(opened, sha)).rejects.toMatchObject({
      kind: 'too-large',
      message: expect.stringContaining('larger than 500000 bytes'),
    })
    expect(await readdir(await packDirectory(cacheDir))).toEqual([])
  })

  test('what earlier uses have fetched does not count', async () => {
    const { repository, open } = await servedRepository()
    repository.git('config', 'uploadpack.allowFilter', 'false')
    const limits = { ...GIT_LIMITS, repositoryBytes: 1_000_000 }
    const former = repository.commit({ 'large.bin': randomBytes(600_000) })
    repository.git('checkout', '--quiet', '--orphan', 'other')
    const base = repository.commit({ 'large.bin': null, 'main.tf': '' })
    const head = repository.commit({ 'large.bin': randomBytes(600_000) })
    {
      await using opened = await open({ limits })
      await fetchCommit(opened, former)
    }

    await using opened = await open({ limits })
    for (const sha of [base, head]) await fetchCommit(opened, sha)

    for (const sha of [base, head]) expect((await commitInfo(opened, sha)).sha).toBe(sha)
    await expect(commitInfo(opened, former)).rejects.toMatchObject({ kind: 'not-found' })
  })

  test('an abort while fetching ends git, and the repository stays usable', async () => {
    let holdAfter = 200_000
    const { repository, cacheDir, open } = await servedRepository({ holdAfter: () => holdAfter })
    repository.git('config', 'uploadpack.allowFilter', 'false')
    const sha = repository.commit({ 'large.bin': randomBytes(1_000_000) })
    const stop = new AbortController()
    {
      await using opened = await open({ signal: stop.signal })
      const failure = fetchCommit(opened, sha).catch((error: unknown) => error)
      await expect
        .poll(async () => (await readdir(await packDirectory(cacheDir)).catch(() => [])).join())
        .toContain('tmp_pack')
      stop.abort(new Error('the job was canceled'))
      expect(await failure).toMatchObject({ message: 'the job was canceled' })
    }
    holdAfter = Infinity

    await using opened = await open()
    await fetchCommit(opened, sha)

    expect((await commitInfo(opened, sha)).sha).toBe(sha)
    expect(await privateDirectories(process.pid)).toHaveLength(1)
  })

  test('the repository that was used least recently is removed', async () => {
    const { server, open, cacheDir } = await servedRepository()
    const open100k = async (name: string) => {
      const repository = makeRepository(server.root, name)
      repository.git('config', 'uploadpack.allowFilter', 'false')
      const sha = repository.commit({ 'large.bin': randomBytes(100_000) })
      const remote = remoteOf(`${server.url}/${name}`)
      await using opened = await open({ key: name, remote, maxCacheBytes: 250_000 })
      await fetchCommit(opened, sha)
      return opened.gitDir
    }

    const first = await open100k('acme/first')
    const second = await open100k('acme/second')
    await using _ = await open({ key: 'acme/first', maxCacheBytes: 250_000 })
    await open100k('acme/third')

    expect((await readdir(cacheDir)).length).toBe(3)
    expect(await readdir(first)).toContain('HEAD')
    await expect(readdir(second)).rejects.toThrow('ENOENT')
  })
})

test('many packs are merged', async () => {
  const { repository, cacheDir, open } = await servedRepository()
  const sha = repository.commit({ 'main.tf': 'content' })
  {
    await using opened = await open()
    await fetchCommit(opened, sha)
  }
  const packs = await packDirectory(cacheDir)
  for (const name of await readdir(packs)) {
    for (let n = 0; n < 101; n += 1)
      await copyFile(join(packs, name), join(packs, name.replace(/[0-9a-f]{40}/, n.toString(16).padStart(40, '0'))))
  }
  const file = join(await temporaryDirectory(), 'archive.tar.gz')

  await using opened = await open()

  expect((await readdir(packs)).filter((name) => name.endsWith('.pack')).length).toBeLessThan(5)
  expect(await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10_000, file })).toMatchObject({
    files: 1,
  })
})

describe('damage', () => {
  const damages: [string, (directory: string) => Promise<void>][] = [
    ['lost packs', async (directory) => rm(directory, { recursive: true })],
    [
      'truncated packs',
      async (directory) => {
        for (const name of await readdir(directory)) await truncate(join(directory, name), 20)
      },
    ],
    ['a lost HEAD', async (directory) => rm(join(directory, '../../HEAD'))],
    ['a broken configuration', async (directory) => truncate(join(directory, '../../config'), 7)],
  ]

  test.each(damages)('a repository with %s is fetched again', async (_, damage) => {
    const { repository, cacheDir, open } = await servedRepository()
    const former = repository.commit({ 'main.tf': 'former' })
    {
      await using opened = await open()
      await fetchCommit(opened, former)
    }
    await damage(await packDirectory(cacheDir))
    const sha = repository.commit({ 'main.tf': 'content' })
    const file = join(await temporaryDirectory(), 'archive.tar.gz')

    await using opened = await open()
    for (const each of [former, sha]) await fetchCommit(opened, each)
    const { files } = await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10_000, file })

    expect(files).toBe(1)
  })

  test('damage during a use is reported, and the next use fetches again', async () => {
    const { repository, cacheDir, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': 'content' })
    const file = join(await temporaryDirectory(), 'archive.tar.gz')
    const archive = { tree: sha, submodules: false, maxBytes: 10_000, file }
    {
      await using opened = await open()
      await fetchCommit(opened, sha)
      await damages[1]?.[1](await packDirectory(cacheDir))

      await expect(writeArchive(opened, archive)).rejects.toMatchObject({
        kind: 'unreachable',
        message: expect.stringContaining('is damaged'),
      })
    }

    await using opened = await open()
    await fetchCommit(opened, sha)

    expect(await writeArchive(opened, archive)).toMatchObject({ files: 1 })
  })
})

test('nothing below the cache holds a credential', async () => {
  const { repository, cacheDir, open } = await servedRepository()
  const sha = repository.commit({ 'main.tf': 'content' })
  {
    await using opened = await open()
    await fetchCommit(opened, sha)
    const file = join(await temporaryDirectory(), 'archive.tar.gz')
    await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10_000, file })
  }

  const entries = await readdir(cacheDir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const contents = await Promise.all(files.map((file) => readFile(file, 'latin1')))
  expect(files.length).toBeGreaterThan(5)
  expect(contents.join('\n')).not.toContain(USER.password)
  expect(contents.join('\n')).not.toContain(Buffer.from(`${USER.username}:${USER.password}`).toString('base64'))
  expect(await privateDirectories(process.pid)).toEqual([])
})
