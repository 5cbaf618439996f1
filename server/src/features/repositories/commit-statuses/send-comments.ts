import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { type HostApi, HostError } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost, openConnectionOf } from '../connections/connection.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import { listChanges, listReviews } from '../reviewed-plans/store.ts'
import { type WorkspaceReport, commentMarker, pullRequestComment } from './comment.ts'
import { lastingProblem, recordAcceptance, recordRefusal } from './refusals.ts'
import * as store from './store.ts'

/** A comment is edited at most this often, in ms: all of a pull request's plans end within a short time. */
const MIN_INTERVAL_MS = 10_000
/** Maximum number of a plan's changes in a comment. */
const MAX_LISTED_CHANGES = 2000

/** Updates the comments that are due, and postpones one that was updated a moment ago. */
export async function sendComments(ctx: Ctx, connectionId: string, signal: AbortSignal) {
  for (const { updatedAt, ...pullRequest } of await store.listDueComments(ctx.db, connectionId)) {
    if (signal.aborted) return
    const possibleAt = new Date((updatedAt?.getTime() ?? 0) + MIN_INTERVAL_MS)
    if (possibleAt > ctx.now()) await store.postponeComment(ctx.db, pullRequest, possibleAt)
    else await sendComment(ctx, pullRequest)
  }
}

/** Undefined if the connection has just been deleted: its reports are, too. */
export async function openReported(ctx: Ctx, repositoryId: string) {
  const repository = await findRepository(ctx.db, repositoryId)
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
  try {
    await bringUpToDate(ctx, key, opened)
  } catch (error) {
    const problem = lastingProblem(ctx, error)
    if (problem === undefined) throw error
    await store.updateComment(ctx.db, key, { digest: null, error: problem, now: ctx.now() })
  }
  await store.finishComment(ctx.db, versions)
}

async function bringUpToDate(ctx: Ctx, key: store.PullRequestKey, opened: Opened) {
  const { comments: format } = opened.connection.host.capabilities
  const reports = format ? await readReports(ctx, key) : []
  const [first] = reports
  if (!format || !first) return
  const stored = await store.findComment(ctx.db, key)
  const marker = stored?.marker ?? commentMarker(first.organization_name, ctx.newId('comment'))
  const body = pullRequestComment({ baseUrl: ctx.baseUrl, reports, format, marker })
  if (body) await putComment(ctx, key, { ...opened, stored, marker, body })
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

type Opened = { repository: RepositoryRow; connection: Connection }
type NewComment = Opened & {
  stored: store.StoredComment | undefined
  marker: string
  body: string
}

/** Records a lasting refusal of the host. */
async function putComment(ctx: Ctx, key: store.PullRequestKey, comment: NewComment) {
  const { repository, connection, stored, marker, body } = comment
  const digest = createHash('sha256').update(body).digest('hex')
  if (stored?.digest === digest) return
  if (!stored) await store.insertComment(ctx.db, key, { marker, now: ctx.now() })
  try {
    const id = await callHost(ctx, connection, async (api) => writeComment(ctx, key, { ...comment, api }))
    await store.updateComment(ctx.db, key, { id, digest, error: null, now: ctx.now() })
    await recordAcceptance(ctx, repository.id, 'comment')
  } catch (error) {
    const problem = error instanceof HostError ? lastingProblem(ctx, error) : undefined
    if (problem === undefined) throw error
    await recordRefusal(ctx, connection, { repository, what: 'comment', message: problem })
    await store.updateComment(ctx.db, key, { digest, error: problem, now: ctx.now() })
  }
}

type Writing = NewComment & { api: HostApi }

/** Edits the comment, or creates the first one. Returns its id. */
async function writeComment(ctx: Ctx, key: store.PullRequestKey, { api, repository, stored, marker, body }: Writing) {
  const { identifier } = repository
  const known = stored?.comment_id ?? null
  // Without an id, an earlier attempt may have created the comment, but failed before it could store the id.
  const id = known ?? (stored && (await api.findComment(identifier, key.number, marker)))
  if (id !== undefined && (await api.updateComment(identifier, key.number, { id, body }))) return id
  // Forgotten first: if this attempt fails, the next one has to look for the new comment.
  if (known !== null) await store.updateComment(ctx.db, key, { id: null, digest: null, error: null, now: ctx.now() })
  return api.createComment(identifier, key.number, body)
}
