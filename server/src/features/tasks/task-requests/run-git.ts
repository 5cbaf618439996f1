import type { Readable } from 'node:stream'
import { GitError } from '@groundstate/agent/git/errors'
import { ArchiveError, readArchive } from '@groundstate/contract/archive'
import {
  type GitOperation,
  type GitOperationOf,
  type GitResult,
  gitResults,
} from '@groundstate/contract/git-operations'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { noAgent } from './fetch.ts'
import { GIT_LEASE_MS, type GitWork, gitTopic, openReport, sealWork } from './git-request.ts'
import { keepGitRequest, requeueExpired } from './git-store.ts'
import { ABANDONED_AFTER_MS, POLL_MS, hasAgent } from './send.ts'
import * as store from './store.ts'
import { type TaskPool, responseTopic } from './task-request.ts'

/** Time for which a request is claimable unless it is kept, in ms: after a crash of the waiting process nobody wants the result. */
const KEPT_MS = 60_000
/** Maximum time in the queue while agents are online, in ms: each executes two operations at a time. */
const QUEUE_MS = 10 * 60_000
/** Agents that may be lost with a request before it fails. */
const MAX_LEASES = 3

/**
 * Has an agent of the pool execute an operation of git, and waits for the result without a database connection. A lost agent's operation is
 * given to another. The archive of `archive` is stored as the blob `blobKey`, unless that exists, and checked. Throws a `GitError` whose
 * message names the agent or the pool, and the reason of an abort.
 */
export async function runGitThroughPool<Kind extends GitOperation['kind']>(
  ctx: Ctx,
  pool: TaskPool,
  work: GitWork & { operation: GitOperationOf<Kind> },
  options: { signal?: AbortSignal | undefined } = {},
): Promise<GitResult<Kind>> {
  // The schema of the result is that of the operation's kind.
  return (await run(ctx, pool, { ...options, work })) as GitResult<Kind>
}

type Run = { work: GitWork; signal?: AbortSignal | undefined }

async function run(ctx: Ctx, pool: TaskPool, { work, signal }: Run): Promise<unknown> {
  const route = { pool, kind: 'repository' } as const
  if (!(await hasAgent(ctx, route))) throw new GitError('unreachable', noAgent(pool))
  const id = await queue(ctx, pool, work)
  using topic = ctx.signals.subscribe(responseTopic(id))
  try {
    let queuedAt: Date | undefined
    let keptUntil = 0
    for (;;) {
      signal?.throwIfAborted()
      const progress = await store.findProgress(ctx.db, { id })
      if (!progress) throw new GitError('unreachable', `the git operation of the agent pool ${pool.name} was withdrawn`)
      const now = ctx.now()
      const { status, response, agent_name: agentName, lease_expires_at: expiresAt } = progress
      const agent = `the agent ${agentName} of the pool ${pool.name}`
      if (status === 'answered' && response) {
        const report = openReport(ctx, { id, response })
        if ('error' in report) throw new GitError(report.error.kind, `${agent}: ${report.error.message}`)
        return await resultOf(ctx, { agent, result: report.result }, work)
      }

      queuedAt = status === 'queued' ? (queuedAt ?? now) : undefined
      if (queuedAt && now.getTime() - queuedAt.getTime() > QUEUE_MS)
        throw new GitError('timed-out', `no agent of the pool ${pool.name} took the git operation: they are busy`)
      if (status === 'leased' && expiresAt && expiresAt <= now) {
        if (progress.leases >= MAX_LEASES)
          throw new GitError('unreachable', `${agent} was lost during the git operation, as were those before it`)
        if (await requeueExpired(ctx.db, id, now)) ctx.signals.publish(ctx.db, gitTopic(pool.id))
        continue
      }
      if (keptUntil - now.getTime() < KEPT_MS / 2) {
        if (queuedAt && !(await hasAgent(ctx, route))) throw new GitError('unreachable', noAgent(pool))
        keptUntil = now.getTime() + KEPT_MS
        await keepGitRequest(ctx.db, id, new Date(keptUntil))
      }
      await topic.next({ timeoutMs: POLL_MS, signal })
    }
  } finally {
    // The agent notices at its next heartbeat.
    await store.deleteTaskRequest(ctx.db, id)
  }
}

async function queue(ctx: Ctx, pool: TaskPool, work: GitWork) {
  const now = ctx.now()
  const id = ctx.newId('gitreq')
  const row = {
    id,
    agent_pool_id: pool.id,
    kind: 'git' as const,
    task_result_id: null,
    request: sealWork(ctx, id, work),
    timeout_ms: GIT_LEASE_MS,
    claim_until: new Date(now.getTime() + KEPT_MS),
    created_at: now,
  }
  await store.insertTaskRequest(ctx.db, row, new Date(now.getTime() - ABANDONED_AFTER_MS))
  ctx.signals.publish(ctx.db, ctx.signals.toOne(gitTopic(pool.id)))
  return id
}

type Reported = { agent: string; result: unknown }

async function resultOf(ctx: Ctx, { agent, result }: Reported, { operation, blobKey }: GitWork) {
  const { data } = gitResults[operation.kind].safeParse(result)
  if (!data) throw new GitError('unreachable', `${agent} reported an invalid result of the git operation`)
  if (operation.kind !== 'archive') return data
  const size = await checkArchive(ctx, { agent, blobKey, maxBytes: operation.maxBytes })
  return { ...data, size }
}

type Archive = { agent: string; blobKey: string | undefined; maxBytes: number }

/** The size of the stored archive, which may come from an agent that was lost. An archive that agents must not unpack is deleted. */
async function checkArchive(ctx: Ctx, { agent, blobKey = '', maxBytes }: Archive) {
  let size = 0
  async function* counted(archive: Readable) {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      size += chunk.length
      yield chunk
    }
  }
  try {
    await readArchive(counted(await ctx.blobs.open(blobKey)), { maxBytes })
    return size
  } catch (error) {
    if (error instanceof BlobNotFoundError)
      throw new GitError('unreachable', `${agent} reported an archive and did not upload it`, { cause: error })
    if (!(error instanceof ArchiveError)) throw error
    await ctx.blobs.delete(blobKey)
    throw new GitError('invalid', `${agent}: the archive cannot be used: ${error.message}`, { cause: error })
  }
}
