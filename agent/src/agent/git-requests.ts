import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { GitRequest, ReportGit } from '@groundstate/contract/agent-requests'
import { GitError } from '../git/errors.ts'
import { runGitOperation } from '../git/operations.ts'
import type { GitNetwork } from '../git/remote.ts'
import { messageOf } from '../process/errors.ts'
import { claimGit, renewGitRequest, reportGit, uploadArchive } from '../server/client.ts'
import { permittedAddresses } from './addresses.ts'
import { type RequestClaims, serveClaims } from './task-requests.ts'

/** Maximum number of concurrent operations. */
const LIMIT = 2

type GitClaims = RequestClaims & {
  workDir: string
  /** PEM file that replaces the system's certificate authorities. */
  certificates: string | undefined
  /** Counts an operation as work of the agent. */
  during: (work: () => Promise<void>) => Promise<void>
}

/** Executes git operations for the server, until the agent stops. Rejects when the server refuses the token. */
export async function serveGitRequests(claims: GitClaims): Promise<void> {
  const { connection, token, waitMs, deregistered, workDir } = claims
  // Archives that a killed agent has left.
  await rm(archivesOf(workDir), { recursive: true, force: true })
  await serveClaims(claims, {
    what: 'git request',
    limit: LIMIT,
    claim: (agentId) => claimGit(connection, token, agentId, { waitMs, signal: deregistered }),
    handle: (request) => claims.during(() => handle(request, claims)),
  })
}

const archivesOf = (workDir: string) => join(workDir, 'archives')

/** Executes an operation under its lease, and reports the result. Without the lease, another agent has the request, or nobody wants the result. */
async function handle(request: GitRequest, claims: GitClaims) {
  const { connection, log, forceful, workDir } = claims
  const { url } = request.remote
  const { kind } = request.operation
  const file = join(archivesOf(workDir), `${request.id}.tar.gz`)
  const ended = new AbortController()
  const lost = new AbortController()
  const signal = AbortSignal.any([lost.signal, forceful])
  const renewing = renew(request, claims, ended.signal).catch((error: unknown) => lost.abort(error))
  try {
    await mkdir(archivesOf(workDir), { recursive: true, mode: 0o700 })
    const report = await execute(request, claims, { file, signal })
    if (signal.aborted) return log.warn({ url, kind, reason: messageOf(signal.reason) }, 'git operation dropped')
    const outcome = 'error' in report ? { reason: report.error.message } : {}
    log.info({ url, kind, ...outcome }, 'git operation executed')
    if (kind === 'archive' && 'result' in report) await uploadArchive(connection, request, { file, signal })
    await reportGit(connection, request, { report, signal })
  } catch (error) {
    log.warn({ url, kind, error }, 'the result of a git operation could not be reported')
  } finally {
    ended.abort()
    await renewing
    await rm(file, { force: true })
  }
}

type Execution = { file: string; signal: AbortSignal }

async function execute({ remote, operation }: GitRequest, claims: GitClaims, given: Execution): Promise<ReportGit> {
  const { workDir, certificates, log } = claims
  const network: GitNetwork = {
    checkAddress: async ({ host }) => permittedAddresses(host),
    caFile: certificates,
    knownHostsFile: join(workDir, 'known_hosts'),
  }
  try {
    const cacheDir = join(workDir, 'repositories')
    return { result: await runGitOperation({ remote, operation, cacheDir, network, ...given }) }
  } catch (error) {
    if (error instanceof GitError) return { error: { kind: error.kind, message: error.message } }
    if (!given.signal.aborted) log.error({ error }, 'a git operation failed')
    return { error: { kind: 'unreachable', message: `the operation failed: ${messageOf(error)}` } }
  }
}

/** Renews the lease until `ended`. Rejects when the server refuses that, or cannot be reached for the length of the lease. */
async function renew(request: GitRequest, { connection }: GitClaims, ended: AbortSignal) {
  const { leaseMs } = request
  while (!ended.aborted) {
    await delay(leaseMs / 4, undefined, { signal: ended }).catch(() => {})
    if (ended.aborted) return
    try {
      await renewGitRequest(connection, request, AbortSignal.any([ended, AbortSignal.timeout(leaseMs / 2)]))
    } catch (error) {
      if (!ended.aborted) throw error
    }
  }
}
