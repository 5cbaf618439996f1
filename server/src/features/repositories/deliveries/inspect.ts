import type { Ctx } from '../../../app.ts'
import { type HostEvent, HostError } from '../../../vcs-hosts/host.ts'
import { callHost, openConnectionOf } from '../connections/connection.ts'
import { runGit } from '../git/run.ts'
import type { RepositoryRow } from '../git/store.ts'
import * as store from './store.ts'

/** An event with what git and the host know about it. */
export type Facts = {
  event: HostEvent
  /** Null if they are unknown or too many. */
  changedFiles: readonly string[] | null
  /** The result of merging a pull request into its base. */
  merge: { base: string; tree: string } | null
  conflicts: readonly string[] | null
}

/** The facts in the webhook itself. */
export function statedFacts(event: HostEvent): Facts {
  return { event, changedFiles: event.kind === 'push' ? event.changedFiles : null, merge: null, conflicts: null }
}

type Inspected = { deliveryId: string; repository: RepositoryRow; event: HostEvent; signal: AbortSignal }

/** Asks git for the changed files of a push, and for the result of merging a pull request. Throws `GitError` and `HostError`. */
export async function inspectEvent(ctx: Ctx, { event, ...inspected }: Inspected): Promise<Facts> {
  const facts = statedFacts(event)
  if (event.kind === 'pull-request') return { ...facts, ...(await mergePullRequest(ctx, event, inspected)) }
  if (event.kind === 'tag' || event.commit === null || event.before === null || facts.changedFiles) return facts
  const to = { sha: event.commit.sha, ref: `refs/heads/${event.branch}` }
  const { repository, signal } = inspected
  const compare = { kind: 'compare', from: event.before, to } as const
  return { ...facts, ...(await runGit(ctx, repository, compare, { signal })) }
}

type PullRequestEvent = Extract<HostEvent, { kind: 'pull-request' }>

async function mergePullRequest(ctx: Ctx, received: PullRequestEvent, inspected: Omit<Inspected, 'event'>) {
  const { repository, signal } = inspected
  const event = await withFullSha(ctx, received, inspected)
  const { head, headRef, base } = event.pullRequest
  const operation = { kind: 'merge', base: base.branch, head: { sha: head.sha, ref: headRef } } as const
  const merge = await runGit(ctx, repository, operation, { signal })
  if (merge.kind === 'conflict') return { event, conflicts: merge.paths }
  return { event, changedFiles: merge.changedFiles, merge: { base: merge.base, tree: merge.tree } }
}

/** Some hosts abbreviate the commits of pull requests in webhooks. */
async function withFullSha(ctx: Ctx, event: PullRequestEvent, { deliveryId, repository }: Omit<Inspected, 'event'>) {
  const { number, head } = event.pullRequest
  if (head.sha.length === 40) return event
  const connection = await openConnectionOf(ctx, repository)
  const pullRequest = await callHost(ctx, connection, async (api) => api.findPullRequest(repository.identifier, number))
  if (!pullRequest) throw new HostError('not-found', `${connection.host.name} has no pull request ${number}`)
  const full = { ...event, pullRequest }
  await store.setEvent(ctx.db, deliveryId, full)
  return full
}
