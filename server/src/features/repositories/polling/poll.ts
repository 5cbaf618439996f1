import { GitError } from '@groundstate/agent/git/errors'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { type EventCommit, HostError, type HostEvent, type PullRequest } from '../../../vcs-hosts/host.ts'
import { callHost, openConnectionOf } from '../connections/connection.ts'
import { insertEvents } from '../deliveries/receive.ts'
import { runGit } from '../git/run.ts'
import { type PolledRefs, changesBetween, eventKey, polledRefs } from './compare.ts'
import * as store from './store.ts'

/** Events of webhooks this long before the last poll, in ms, are still compared with: a webhook may be faster than a poll. */
const OVERLAP_MS = 600_000
/** Commits whose messages are read in one poll, and the time for that in ms. Runs of others get theirs with the configuration. */
const MAX_MESSAGES = 20
const MESSAGES_MS = 20_000

/**
 * Compares a repository with what the last poll found, and stores what has happened as deliveries, except for what webhooks have reported.
 * The first poll only remembers. Throws a `GitError` or a `HostError`.
 */
export async function pollRepository(ctx: Ctx, repository: store.PolledRepository, signal: AbortSignal) {
  const [found, open] = await Promise.all([
    runGit(ctx, repository, { kind: 'refs' }, { signal }),
    listOpenPullRequests(ctx, repository),
  ])
  const before = repository.polled_refs
  const refs = polledRefs(found, open, before)
  const events = before === null ? [] : await eventsBetween(ctx, repository, { before, refs, signal })
  const now = ctx.now()
  await transact(ctx, async (ctx) => {
    const isLatest = await store.savePoll(ctx.db, repository.id, { polledAt: repository.polled_at, refs, now })
    if (!isLatest || events.length === 0) return
    await insertEvents(ctx, { repository, key: `poll at ${now.toISOString()}`, source: 'polling', events })
  })
}

/** Undefined if the host has none, or the token may not read them: branches are polled all the same. */
async function listOpenPullRequests(ctx: Ctx, repository: store.PolledRepository) {
  const connection = await openConnectionOf(ctx, repository)
  if (!connection.host.api || !connection.host.capabilities.hasPullRequests) return undefined
  try {
    return await callHost(ctx, connection, async (api) => api.listOpenPullRequests(repository.identifier))
  } catch (error) {
    if (error instanceof HostError && error.kind === 'forbidden') return undefined
    throw error
  }
}

type Compared = { before: PolledRefs; refs: PolledRefs; signal: AbortSignal }

async function eventsBetween(ctx: Ctx, repository: store.PolledRepository, { before, refs, signal }: Compared) {
  const { events, gone } = changesBetween(before, refs)
  if (events.length + gone.length === 0) return []
  const since = new Date((repository.polled_at ?? ctx.now()).getTime() - OVERLAP_MS)
  const reported = new Set((await store.listReported(ctx.db, repository.id, since)).map(eventKey))
  const ended = await endsOf(ctx, repository, gone)
  const news = [...ended, ...events].filter((event) => !reported.has(eventKey(event)))
  return withMessages(ctx, repository, { events: news, signal })
}

async function endsOf(ctx: Ctx, repository: store.PolledRepository, gone: readonly PullRequest[]) {
  const connection = await openConnectionOf(ctx, repository)
  const ends: HostEvent[] = []
  for (const known of gone) {
    const find = callHost(ctx, connection, async (api) => api.findPullRequest(repository.identifier, known.number))
    const pullRequest = (await find) ?? known
    const action = pullRequest.mergeSha === null ? 'closed' : 'merged'
    ends.push({ kind: 'pull-request', action, pullRequest, sender: pullRequest.author })
  }
  return ends
}

type Found = { events: readonly HostEvent[]; signal: AbortSignal }

/** Reads the messages and authors of commits that may start runs. */
async function withMessages(ctx: Ctx, repository: store.PolledRepository, { events, signal }: Found) {
  const followed = await store.findFollowed(ctx.db, repository.id)
  let left = MAX_MESSAGES
  const end = AbortSignal.timeout(MESSAGES_MS)
  const completed: HostEvent[] = []
  for (const event of events) {
    const ref = refOf(event, followed)
    if (ref === undefined || left === 0 || end.aborted || event.kind === 'pull-request' || event.commit === null) {
      completed.push(event)
      continue
    }
    left -= 1
    completed.push({ ...event, ...(await readCommit(ctx, repository, { commit: event.commit, ref, signal, end })) })
  }
  return completed
}

function refOf(event: HostEvent, followed: { branches: readonly string[]; tags: boolean }) {
  if (event.kind === 'push' && followed.branches.includes(event.branch)) return `refs/heads/${event.branch}`
  return event.kind === 'tag' && followed.tags ? `refs/tags/${event.tag}` : undefined
}

type Read = { commit: EventCommit; ref: string; signal: AbortSignal; end: AbortSignal }

/**
 * Nothing for a commit that cannot be read, or not until `end`: its run says why. A commit that is gone by now was replaced by one that a
 * later poll finds.
 */
async function readCommit(ctx: Ctx, repository: store.PolledRepository, { commit, ref, signal, end }: Read) {
  try {
    const operation = { kind: 'commit', commit: { sha: commit.sha, ref } } as const
    const { message, author } = await runGit(ctx, repository, operation, { signal: AbortSignal.any([signal, end]) })
    return { commit: { ...commit, message }, sender: { username: author.name, avatarUrl: '', pageUrl: '' } }
  } catch (error) {
    if (end.aborted && !signal.aborted) return {}
    if (error instanceof GitError && CONCERNS_COMMIT.has(error.kind)) return {}
    throw error
  }
}

const CONCERNS_COMMIT: ReadonlySet<string> = new Set(['not-found', 'too-large', 'invalid', 'timed-out'])
