import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost, openConnectionOf } from '../connections/connection.ts'
import { listChanges, listReviews } from '../reviewed-plans/store.ts'
import { type WorkspaceReport, pullRequestComment } from './comment.ts'
import { recordAcceptance, recordRefusal } from './refusals.ts'
import * as store from './store.ts'

/** A comment is edited at most this often, in ms: all of a pull request's plans end within a short time. */
const MIN_INTERVAL_MS = 10_000
/** Maximum number of a plan's changes in a comment. */
const MAX_LISTED_CHANGES = 2000

export type Sending = { renew: () => Promise<void>; signal: AbortSignal }

/** Updates the comments that are due. Returns when the next one may be, if one was updated a moment ago. */
export async function sendComments(ctx: Ctx, connectionId: string, { renew, signal }: Sending) {
  let later: Date | undefined
  for (const { updatedAt, ...pullRequest } of await store.listDueComments(ctx.db, connectionId)) {
    if (signal.aborted) return later
    const possibleAt = new Date((updatedAt?.getTime() ?? 0) + MIN_INTERVAL_MS)
    if (possibleAt > ctx.now()) later ??= possibleAt
    else {
      await renew()
      await sendComment(ctx, pullRequest)
    }
  }
  return later
}

/** Undefined if the connection has just been deleted: its reports are, too. */
export async function openReported(ctx: Ctx, repositoryId: string) {
  const repository = await store.findRepository(ctx.db, repositoryId)
  if (!repository) return undefined
  try {
    return { repository, connection: await openConnectionOf(ctx, repository) }
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not-found') return undefined
    throw error
  }
}

async function sendComment(ctx: Ctx, key: store.PullRequestKey) {
  const opened = await openReported(ctx, key.repositoryId)
  if (!opened) return
  // Read before the content: what changes in between stays due.
  const versions = await store.listCommentVersions(ctx.db, key)
  const { comments: format } = opened.connection.host.capabilities
  const reports = format ? await readReports(ctx, key) : []
  const body = format && pullRequestComment({ baseUrl: ctx.baseUrl, reports, format })
  if (body) await putComment(ctx, key, { ...opened, body })
  await store.finishComment(ctx.db, versions)
}

async function readReports(ctx: Ctx, key: store.PullRequestKey): Promise<WorkspaceReport[]> {
  const rows = await store.listPullRequestReports(ctx.db, key)
  const idsOf = (kind: 'run' | 'plan') => rows.flatMap((row) => (row.kind === kind && row.run ? row.run.id : []))
  const [changes, reviews] = await Promise.all([
    listChanges(ctx.db, idsOf('plan'), MAX_LISTED_CHANGES),
    listReviews(ctx.db, idsOf('run')),
  ])
  const plans = new Map(changes.map((row) => [row.run_id, row.changes && { changes: row.changes, total: row.total }]))
  const compared = new Map(reviews.map((row) => [row.run_id, row]))
  return rows.map((row) => {
    const id = row.run?.id ?? ''
    return { ...row, plan: plans.has(id) ? (plans.get(id) ?? null) : 'unread', review: compared.get(id) ?? null }
  })
}

type NewComment = { repository: store.ReportedRepository; connection: Connection; body: string }

/** Records a lasting refusal of the host. */
async function putComment(ctx: Ctx, key: store.PullRequestKey, { repository, connection, body }: NewComment) {
  const stored = await store.findComment(ctx.db, key)
  const digest = createHash('sha256').update(body).digest('hex')
  if (stored?.digest === digest) return
  const id = stored?.comment_id ?? null
  try {
    const { identifier } = repository
    const put = await callHost(ctx, connection, async (api) => api.putComment(identifier, key.number, { id, body }))
    await store.putComment(ctx.db, key, { id: put, digest, error: null, now: ctx.now() })
    await recordAcceptance(ctx, repository.id, 'comment')
  } catch (error) {
    if (!(error instanceof HostError) || (error.kind !== 'forbidden' && error.kind !== 'not-found')) throw error
    await recordRefusal(ctx, connection, { repository, what: 'comment', message: error.message })
    await store.putComment(ctx.db, key, { id, digest, error: error.message, now: ctx.now() })
  }
}
