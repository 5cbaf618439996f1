import { execFileSync } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Remote } from '../git/remote.ts'
import { type OpenRepository, openRepository } from '../git/repository.ts'
import { temporaryDirectory } from './agent-fixture.ts'
import { type GitServerOptions, USER, makeRepository, serveGit } from './git-server.ts'

const { signal } = new AbortController()

export function remoteOf(url: string, overrides: Partial<Remote> = {}): Remote {
  return { url, credential: { basic: USER }, network: { knownHostsFile: '/dev/null' }, ...overrides }
}

/** A repository that is served over http, and a function that opens it. */
export async function servedRepository(options: GitServerOptions = {}) {
  const server = await serveGit(options)
  const repository = makeRepository(server.root, 'acme/network')
  const cacheDir = await temporaryDirectory()
  const remote = remoteOf(`${server.url}/acme/network`)
  const open = (overrides: Partial<OpenRepository> = {}) =>
    openRepository({ cacheDir, key: 'acme', remote, signal, ...overrides })
  return { server, repository, cacheDir, remote, open }
}

/** Contents of the files of an archive by path. */
export async function unpacked(file: string) {
  const directory = await temporaryDirectory()
  execFileSync('tar', ['-xzf', file, '-C', directory])
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const contents = await Promise.all(
    files.map(async (path) => [path.slice(directory.length + 1), await readFile(path, 'utf8')] as const),
  )
  return Object.fromEntries(contents)
}

export const archiveFile = async () => join(await temporaryDirectory(), 'archive.tar.gz')
