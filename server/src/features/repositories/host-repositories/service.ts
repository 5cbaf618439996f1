import { GitError } from '@groundstate/agent/git/errors'
import type { GitOperationOf, GitResult } from '@groundstate/contract/git-operations'
import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import type { HostApi, HostPage, HostRepository } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost, openConnectionOf, translateHostError } from '../connections/connection.ts'
import { runGit } from '../git/run.ts'
import type { Chooser } from './chooser.ts'

type ListRepositories = {
  /** Part of the name. */
  query: string
  /** The owner on the host; undefined for all. */
  owner?: string | undefined
  page: Page
}

/** Repositories that the host lists for the connection. Throws `invalid` or `unavailable` with the words of the host. */
export async function listHostRepositories(
  ctx: Ctx,
  chooser: Chooser,
  { query, owner, page }: ListRepositories,
): Promise<HostPage<HostRepository>> {
  const connection = await open(ctx, chooser)
  const { name, capabilities } = connection.host
  if (!capabilities.listsRepositories)
    throw invalid(`${name} has no list of repositories: enter the identifier of the repository`)
  const input = { query, page: page.number, size: page.size }
  const { rows, nextPage } = await ask(ctx, connection, async (api) => api.listRepositories(input))
  const prefix = owner === undefined ? '' : `${owner}/`.toLowerCase()
  return { rows: rows.filter(({ identifier }) => identifier.toLowerCase().startsWith(prefix)), nextPage }
}

/** Owners of repositories on the host; none for a host without an API. */
export async function listHostOwners(ctx: Ctx, chooser: Chooser): Promise<string[]> {
  const connection = await open(ctx, chooser)
  return connection.api ? ask(ctx, connection, async (api) => api.listOwners()) : []
}

/** Whether the repository exists, and the connection may read it. */
export async function hasHostRepository(ctx: Ctx, chooser: Chooser, identifier: string) {
  const urls = await findUrls(ctx, chooser, identifier)
  if (!urls || urls.isConfirmed) return urls !== undefined
  try {
    await ofGit(ctx, { ...chooser, ...urls }, { kind: 'refs' })
    return true
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not-found') return false
    throw error
  }
}

/** A branch of a repository; null is the default branch. */
type Branch = { identifier: string; branch: string | null }

/**
 * Paths of the directories of a repository, at the branch or at the default branch (null). Throws `not-found` for a repository or branch that
 * the connection cannot read.
 */
export async function listDirectories(ctx: Ctx, chooser: Chooser, { identifier, branch }: Branch) {
  const repository = await requireRepository(ctx, chooser, identifier)
  const { paths } = await ofGit(ctx, repository, { kind: 'directories', branch })
  return paths
}

const MAX_COMMITS = 20

/** The latest commits of a branch. Throws as `listDirectories` does. */
export async function listCommits(ctx: Ctx, chooser: Chooser, { identifier, branch }: Branch) {
  const repository = await requireRepository(ctx, chooser, identifier)
  const { commits } = await ofGit(ctx, repository, { kind: 'log', branch, max: MAX_COMMITS })
  return commits
}

async function requireRepository(ctx: Ctx, chooser: Chooser, identifier: string) {
  const urls = await findUrls(ctx, chooser, identifier)
  if (!urls) throw notFound(`repository ${identifier}`)
  return { ...chooser, ...urls }
}

/** The URLs of a repository for git, confirmed by the API of the host if it has one. */
async function findUrls(ctx: Ctx, chooser: Chooser, identifier: string) {
  const connection = await open(ctx, chooser)
  const found = connection.api && (await ask(ctx, connection, async (api) => api.findRepository(identifier)))
  if (connection.api && !found) return undefined
  const urls = found ?? connection.host.repositoryUrls(connection.access, identifier)
  return { clone_url: urls.clone, ssh_url: urls.ssh, isConfirmed: Boolean(found) }
}

type GitRepository = Omit<Parameters<typeof runGit>[1], 'id'>

async function ofGit<Kind extends 'refs' | 'directories' | 'log'>(
  ctx: Ctx,
  repository: GitRepository,
  operation: GitOperationOf<Kind>,
): Promise<GitResult<Kind>> {
  return runGit<Kind>(ctx, { id: '', ...repository }, operation).catch((error: unknown) => {
    if (!(error instanceof GitError)) return translateHostError(error)
    const { kind, message } = error
    const errorKind = kind === 'not-found' ? kind : error.mayPass ? 'unavailable' : 'invalid'
    throw new AppError(errorKind, [{ detail: message }], { cause: error, retryAfterMs: 5000 })
  })
}

/** Time limit for a request to the host, in ms: a person waits. */
const TIMEOUT_MS = 10_000

async function open(ctx: Ctx, chooser: Chooser): Promise<Connection> {
  const connection = await openConnectionOf(ctx, chooser).catch((error: unknown) => translateHostError(error))
  const { host, access, row } = connection
  // The client of the GitHub App manages its tokens itself.
  if (row.oauth_client_id === null) return connection
  return { ...connection, api: host.api?.({ ...access, timeoutMs: TIMEOUT_MS }) ?? null }
}

async function ask<T>(ctx: Ctx, connection: Connection, work: (api: HostApi) => Promise<T>) {
  return callHost(ctx, connection, work).catch((error: unknown) => translateHostError(error))
}
