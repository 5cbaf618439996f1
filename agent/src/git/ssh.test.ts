import { readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { makeRepository } from '../testing/git-server.ts'
import { makeHostKey, makeSshKey, serveSsh } from '../testing/ssh-server.ts'
import { writeArchive } from './archive.ts'
import { listRefs } from './refs.ts'
import type { Remote } from './remote.ts'
import { fetchCommit, openRepository } from './repository.ts'
import { mergeTrees } from './trees.ts'

const { signal } = new AbortController()

async function served(options: { acceptsEnvironment?: boolean } = {}) {
  const root = await temporaryDirectory()
  const repository = makeRepository(root, 'acme/network')
  const [key, hostKey, cacheDir] = [await makeSshKey(), await makeHostKey(), await temporaryDirectory()]
  const server = await serveSsh(root, { publicKey: key.publicKey, hostKey, ...options })
  const remote: Remote = {
    url: `ssh://git@127.0.0.1:${server.port}/acme/network`,
    credential: { privateKey: key.privateKey },
    network: { knownHostsFile: join(cacheDir, 'known hosts') },
  }
  return { root, repository, key, hostKey, cacheDir, server, remote }
}

const keyDirectories = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('groundstate-git-') && name.includes(`-${process.pid}-`))

test.each([true, false])(
  'a repository is read through ssh, with the newer protocol: %s',
  async (acceptsEnvironment) => {
    const { repository, cacheDir, remote, server, key } = await served({ acceptsEnvironment })
    repository.commit({ 'main.tf': 'a\n' })
    repository.git('checkout', '--quiet', '-b', 'feature')
    const head = repository.commit({ 'new.tf': 'new' })
    repository.git('checkout', '--quiet', 'main')
    const base = repository.commit({ 'main.tf': 'b\n' })
    const file = join(cacheDir, 'archive.tar.gz')

    const refs = await listRefs({ remote, signal })
    {
      await using opened = await openRepository({ cacheDir, key: 'acme', remote, signal })
      await fetchCommit(opened, head, 'refs/heads/feature')
      await fetchCommit(opened, base, 'refs/heads/main')
      const merge = await mergeTrees(opened, { base, head })
      const tree = merge.kind === 'merged' ? merge.tree : ''

      expect(await writeArchive(opened, { tree, submodules: false, maxBytes: 10_000, file })).toMatchObject({
        files: 2,
      })
    }

    expect(refs.branches.get('main')).toBe(base)
    expect(server.commands).toContainEqual({ username: 'git', command: "git-upload-pack '/acme/network'" })
    expect(await readFile(remote.network.knownHostsFile, 'utf8')).toContain(`[127.0.0.1]:${server.port} ecdsa`)
    expect(await keyDirectories()).toEqual([])
    const entries = await readdir(cacheDir, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    const contents = await Promise.all(files.map((path) => readFile(path, 'latin1')))
    expect(contents.join('\n')).not.toContain(key.privateKey.split('\n')[1])
  },
)

test("only the owner may read the key's file, which is removed in the end", async () => {
  const { repository, remote, cacheDir, key } = await served()
  repository.commit({ 'main.tf': '' })
  {
    await using _ = await openRepository({ cacheDir, key: 'acme', remote, signal })

    const [directory = ''] = await keyDirectories()
    expect(await readFile(join(tmpdir(), directory, 'key'), 'utf8')).toBe(key.privateKey)
  }

  expect(await keyDirectories()).toEqual([])
})

test('another key is refused', async () => {
  const { remote } = await served()
  const { privateKey } = await makeSshKey()

  const listing = listRefs({ remote: { ...remote, credential: { privateKey } }, signal })

  await expect(listing).rejects.toMatchObject({ kind: 'unauthorised', message: expect.stringContaining('SSH key') })
})

test('a key is required', async () => {
  const { remote } = await served()

  const listing = listRefs({ remote: { ...remote, credential: {} }, signal })

  await expect(listing).rejects.toMatchObject({
    kind: 'unauthorised',
    message: expect.stringContaining('needs an SSH key'),
  })
})

test('a missing repository is not found', async () => {
  const { remote } = await served()

  const listing = listRefs({ remote: { ...remote, url: remote.url.replace('network', 'missing') }, signal })

  await expect(listing).rejects.toMatchObject({ kind: 'not-found' })
})

test('a changed host key is an error that says so', async () => {
  const { repository, remote, server, root, key } = await served()
  repository.commit({ 'main.tf': '' })
  await listRefs({ remote, signal })
  await server.close()
  await serveSsh(root, { publicKey: key.publicKey, hostKey: await makeHostKey(), port: server.port })

  await expect(listRefs({ remote, signal })).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('host key of 127.0.0.1 has changed'),
  })
})

test('ssh connects to the address that was checked, and knows the host by its name', async () => {
  const { repository, remote, server } = await served()
  const sha = repository.commit({ 'main.tf': '' })
  const network = { ...remote.network, checkAddress: () => Promise.resolve(['127.0.0.1']) }
  const url = `ssh://repositories.invalid:${server.port}/acme/network`

  const refs = await listRefs({ remote: { ...remote, url, network }, signal })

  expect(refs.branches.get('main')).toBe(sha)
  expect(await readFile(network.knownHostsFile, 'utf8')).toContain(`[repositories.invalid]:${server.port} `)
})
