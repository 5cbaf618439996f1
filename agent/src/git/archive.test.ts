import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { makeRepository, serveGit } from '../testing/git-server.ts'
import { archiveFile, servedRepository, unpacked } from '../testing/served-repository.ts'
import { writeArchive } from './archive.ts'
import { fetchCommit } from './repository.ts'

describe('archives', () => {
  test('attributes of the repository leave nothing out', async () => {
    const { repository, open } = await servedRepository()
    const files = {
      '.gitattributes': 'secret.tf export-ignore\nv.txt export-subst\n',
      'secret.tf': 's',
      'v.txt': '$Format:%H$',
    }
    const sha = repository.commit(files)
    const file = await archiveFile()

    await using opened = await open()
    await fetchCommit(opened, sha)
    const result = await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10 ** 6, file })

    expect(await unpacked(file)).toEqual(files)
    expect(result).toEqual({
      files: 3,
      bytes: Object.values(files).join('').length,
      size: (await readFile(file)).length,
    })
  })

  test('a symbolic link that leads out of the tree is refused by name', async () => {
    const { repository, open } = await servedRepository()
    const inside = repository.commit({ 'a/main.tf': '', 'b/link': '-> ../a/main.tf' })
    const outside = repository.commit({ 'b/escape': '-> ../../etc/passwd' })
    const file = await archiveFile()

    await using opened = await open()
    for (const sha of [inside, outside]) await fetchCommit(opened, sha)
    const archive = (tree: string) => writeArchive(opened, { tree, submodules: false, maxBytes: 10 ** 6, file })

    expect(await archive(inside)).toMatchObject({ files: 2 })
    await expect(archive(outside)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('"b/escape" links out of the archive to ../../etc/passwd'),
    })
    await expect(readFile(file)).rejects.toThrow('ENOENT')
  })

  test('a directory becomes the root, with its submodules', async () => {
    const { server, repository, open } = await servedRepository()
    const inner = makeRepository(server.root, 'acme/inner')
    const innerSha = inner.commit({ 'inner.tf': 'inner' })
    repository.commit({ 'main.tf': 'outside', 'modules/vpc/main.tf': 'vpc', 'modules/vpc/sub/x.tf': 'x' })
    repository.addSubmodule('other', '../gone', 'a'.repeat(40))
    const tree = repository.addSubmodule('modules/vpc/inner', '../inner', innerSha)
    const file = await archiveFile()

    await using opened = await open()
    await fetchCommit(opened, tree)
    await writeArchive(opened, { tree, directory: 'modules/vpc', submodules: true, maxBytes: 10 ** 6, file })

    expect(await unpacked(file)).toEqual({ 'main.tf': 'vpc', 'sub/x.tf': 'x', 'inner/inner.tf': 'inner' })
  })

  test.each(['modules', 'modules/', 'main.tf', '../x', ':(top)'])(
    'a missing directory such as %s is refused by name',
    async (directory) => {
      const { repository, open } = await servedRepository()
      const tree = repository.commit({ 'main.tf': '' })

      await using opened = await open()
      await fetchCommit(opened, tree)
      const input = { tree, directory, submodules: false, maxBytes: 10 ** 6, file: await archiveFile() }

      await expect(writeArchive(opened, input)).rejects.toMatchObject({
        kind: 'invalid',
        message: `the commit has no directory ${JSON.stringify(directory)}`,
      })
    },
  )

  test('a link that leads out of the directory is refused', async () => {
    const { repository, open } = await servedRepository()
    const tree = repository.commit({ 'common/main.tf': '', 'modules/vpc/link': '-> ../../common/main.tf' })

    await using opened = await open()
    await fetchCommit(opened, tree)
    const input = { tree, directory: 'modules/vpc', submodules: false, maxBytes: 10 ** 6, file: await archiveFile() }

    await expect(writeArchive(opened, input)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('"link" links out of the archive'),
    })
  })

  test('a tree of more than the limit is too large', async () => {
    const { repository, open } = await servedRepository()
    const sha = repository.commit({ 'main.tf': 'x'.repeat(100_000) })

    await using opened = await open()
    await fetchCommit(opened, sha)
    const writing = writeArchive(opened, { tree: sha, submodules: false, maxBytes: 50_000, file: await archiveFile() })

    await expect(writing).rejects.toMatchObject({ kind: 'too-large', message: expect.stringContaining('50000 bytes') })
  })
})

describe('submodules', () => {
  test('are part of the archive, and only the same host gets the credential', async () => {
    const { server, repository, open } = await servedRepository()
    const other = await serveGit()
    const elsewhere = makeRepository(other.root, 'public/modules')
    const outer = makeRepository(server.root, 'acme/modules')
    const inner = makeRepository(server.root, 'acme/inner')
    const innerSha = inner.commit({ 'inner.tf': 'inner' })
    outer.commit({ 'outer.tf': 'outer' })
    const outerSha = outer.addSubmodule('inner', '../inner', innerSha)
    const elsewhereSha = elsewhere.commit({ 'elsewhere.tf': 'elsewhere' })
    repository.commit({ 'main.tf': 'main' })
    repository.addSubmodule('modules/outer', '../modules', outerSha)
    const sha = repository.addSubmodule('modules/elsewhere', `${other.url}/public/modules`, elsewhereSha)
    const file = await archiveFile()

    await using opened = await open()
    await fetchCommit(opened, sha)
    await writeArchive(opened, { tree: sha, submodules: true, maxBytes: 10 ** 6, file })

    expect(await unpacked(file)).toMatchObject({
      'main.tf': 'main',
      'modules/outer/outer.tf': 'outer',
      'modules/outer/inner/inner.tf': 'inner',
      'modules/elsewhere/elsewhere.tf': 'elsewhere',
    })
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  test('are left out unless they are requested', async () => {
    const { repository, open } = await servedRepository()
    repository.commit({ 'main.tf': 'main' })
    const sha = repository.addSubmodule('modules/x', '../modules', 'a'.repeat(40))
    const file = await archiveFile()

    await using opened = await open()
    await fetchCommit(opened, sha)
    await writeArchive(opened, { tree: sha, submodules: false, maxBytes: 10 ** 6, file })

    expect(Object.keys(await unpacked(file))).toEqual(['.gitmodules', 'main.tf'])
  })

  test('that contain themselves end', async () => {
    const { server, repository, open } = await servedRepository()
    const loop = makeRepository(server.root, 'acme/loop')
    let inner = loop.commit({ 'main.tf': '' })
    for (let depth = 0; depth < 7; depth += 1) inner = loop.addSubmodule('again', '../loop', inner)
    const sha = repository.addSubmodule('loop', '../loop', inner)

    await using opened = await open()
    await fetchCommit(opened, sha)
    const writing = writeArchive(opened, { tree: sha, submodules: true, maxBytes: 10 ** 6, file: await archiveFile() })

    await expect(writing).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining('nested') })
  })

  test.each([
    ['file:///etc', 'https, http or ssh'],
    ['--upload-pack=touch /tmp/x', 'not valid'],
    ['ext::sh -c true', 'not valid'],
    ['../../../../outside', 'leads out of the host'],
  ])('with the URL %s are refused', async (url, message) => {
    const { repository, open } = await servedRepository()
    const sha = repository.addSubmodule('modules/x', url, 'a'.repeat(40))

    await using opened = await open()
    const fetched = await fetchCommit(opened, sha)
      .then(() => writeArchive(opened, { tree: sha, submodules: true, maxBytes: 10 ** 6, file: '/nonexistent/x' }))
      .catch((error: unknown) => error)

    expect(fetched).toMatchObject({ kind: 'invalid', message: expect.stringContaining(message) })
  })
})
