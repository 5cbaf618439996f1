import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { GitError } from '@groundstate/agent/git/errors'
import { runGitOperation } from '@groundstate/agent/git/operations'
import type { GitNetwork } from '@groundstate/agent/git/remote'
import type { GitOperation, GitOperationOf, GitRemote, GitResult } from '@groundstate/contract/git-operations'
import type { Selectable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { runGitThroughPool } from '../../tasks/task-requests/run-git.ts'
import { tokenContext } from '../../vcs/oauth-clients/service.ts'
import {
  type Connection,
  openConnectionOf,
  poolOf,
  recordAccepted,
  recordRefused,
  recordUnreachable,
} from '../connections/connection.ts'
import { recordBranches, recordReadError } from './problems.ts'

type RepositoryRow = Pick<
  Selectable<Schema['repositories']>,
  'id' | 'organization_id' | 'oauth_token_id' | 'github_app_installation_id' | 'clone_url' | 'ssh_url'
>

/**
 * Executes an operation of git in a repository through its connection: here, or on an agent of the connection's pool. A refused token or
 * key marks the connection as failed. Whether `refs` can be read is recorded with the repository, as are followed branches that are not
 * among them. Throws a `GitError`, and `not-found` if the connection was deleted.
 */
export async function runGit<Kind extends Exclude<GitOperation['kind'], 'archive'>>(
  ctx: Ctx,
  repository: RepositoryRow,
  operation: GitOperationOf<Kind>,
  options: { signal?: AbortSignal } = {},
): Promise<GitResult<Kind>> {
  const { kind } = operation as GitOperation
  if (kind !== 'refs') return execute<Kind>(ctx, repository, operation, options)
  try {
    const result = await execute<Kind>(ctx, repository, operation, options)
    await recordBranches(ctx, repository, result as GitResult<'refs'>)
    return result
  } catch (error) {
    if (error instanceof GitError) await recordReadError(ctx, repository, error.message)
    throw error
  }
}

async function execute<Kind extends Exclude<GitOperation['kind'], 'archive'>>(
  ctx: Ctx,
  repository: RepositoryRow,
  operation: GitOperationOf<Kind>,
  options: { signal?: AbortSignal },
): Promise<GitResult<Kind>> {
  return through(ctx, repository, async (connection) => {
    const remote = remoteOf(ctx, connection, repository)
    const pool = poolOf(connection.row)
    if (pool) return runGitThroughPool<Kind>(ctx, pool, { remote, operation }, options)
    return runHere(ctx, { remote, operation, ...options })
  })
}

type Archiving = { operation: GitOperationOf<'archive'>; blobKey: string; signal?: AbortSignal }

/** Stores an archive as a blob, which must not exist yet. Throws as `runGit` does. */
export async function fetchArchive(
  ctx: Ctx,
  repository: RepositoryRow,
  { operation, blobKey, ...options }: Archiving,
): Promise<GitResult<'archive'>> {
  return through(ctx, repository, async (connection) => {
    const remote = remoteOf(ctx, connection, repository)
    const pool = poolOf(connection.row)
    if (pool) return runGitThroughPool(ctx, pool, { remote, operation, blobKey }, options)
    const directory = await mkdtemp(join(tmpdir(), 'groundstate-archive-'))
    try {
      const file = join(directory, 'archive.tar.gz')
      const result = await runHere(ctx, { remote, operation, file, ...options })
      await ctx.blobs.put(blobKey, createReadStream(file), { compress: false })
      return result
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
}

async function through<Result>(ctx: Ctx, repository: RepositoryRow, work: (connection: Connection) => Promise<Result>) {
  const connection = await openConnectionOf(ctx, repository)
  try {
    const result = await work(connection)
    await recordAccepted(ctx, connection.row)
    await recordReadError(ctx, repository, null)
    return result
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    const { kind, message } = error
    if (kind === 'unauthorised') await recordRefused(ctx, connection, message)
    if (error.mayPass) await recordUnreachable(ctx, connection.row, message)
    throw error
  }
}

type Execution<Kind extends GitOperation['kind']> = {
  remote: GitRemote
  operation: GitOperationOf<Kind>
  file?: string
  signal?: AbortSignal
}

const NEVER = new AbortController().signal

async function runHere<Kind extends GitOperation['kind']>(ctx: Ctx, execution: Execution<Kind>) {
  const { remote, operation, file, signal = NEVER } = execution
  const cacheDir = ctx.config.gitCacheDir ?? join(ctx.config.dataDir, 'git')
  const network = await networkOf(ctx, cacheDir)
  return runGitOperation({ remote, operation, cacheDir, network, signal, ...(file !== undefined && { file }) })
}

/** Hosts with an API are reached through ssh only where the connection has a key; a plain git server as its URL says. */
function remoteOf(ctx: Ctx, { row, host, access }: Connection, repository: RepositoryRow): GitRemote {
  const privateKey =
    row.ssh_key === null ? undefined : ctx.secrets.openText(row.ssh_key, tokenContext(row.id, 'ssh-key'))
  const sshUrl = privateKey !== undefined && host.api !== null ? repository.ssh_url : null
  const connection = repository.github_app_installation_id ?? row.oauth_client_id
  const key = JSON.stringify([repository.organization_id, connection, repository.clone_url])
  const url = sshUrl ?? repository.clone_url
  return {
    key,
    url,
    ...(access.token !== '' && { basic: host.gitCredential(access) }),
    ...(privateKey !== undefined && { privateKey }),
  }
}

async function networkOf({ config, outbound }: Ctx, cacheDir: string): Promise<GitNetwork> {
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  const { httpProxy, httpsProxy, noProxy } = config
  return {
    checkAddress: async (url) => outbound.addressesFor(url),
    proxy: {
      ...(httpProxy !== undefined && { http_proxy: httpProxy }),
      ...(httpsProxy !== undefined && { https_proxy: httpsProxy }),
      ...(noProxy !== undefined && { no_proxy: noProxy }),
    },
    knownHostsFile: join(cacheDir, 'known_hosts'),
    caFile: await authoritiesFile(cacheDir),
  }
}

let authorities: Promise<string> | undefined

/** Git knows the system's certificate authorities, but not those in `NODE_EXTRA_CA_CERTS`. */
async function authoritiesFile(cacheDir: string) {
  if (process.env['NODE_EXTRA_CA_CERTS'] === undefined) return undefined
  authorities ??= writeAuthorities(join(cacheDir, 'authorities.pem'))
  return authorities
}

async function writeAuthorities(file: string) {
  const certificates = new Set([...getCACertificates('default'), ...getCACertificates('system')])
  await writeFile(file, [...certificates].join('\n'))
  return file
}
