import { BODY_HMAC, headerOf, isNoCommit, isSignedBody, parseBody, parseRef } from '../bodies.ts'
import type { HostWebhooks, ParsedWebhook, PullRequest, PullRequestEvent, Sender, WebhookRequest } from '../host.ts'
import {
  anyHookSchema,
  appHookSchema,
  type GithubAccount,
  type GithubPullRequest,
  type GithubPush,
  pullRequestHookSchema,
  pushSchema,
} from './schemas.ts'

/** Events of webhooks to create. */
export const EVENTS = ['push', 'pull_request'] as const

const PARSERS: ReadonlyMap<string, (request: WebhookRequest) => ParsedWebhook> = new Map([
  ['push', parsePush],
  ['pull_request', parsePullRequest],
])

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['ready_for_review', 'opened'],
  ['synchronize', 'updated'],
])

export const githubWebhooks: HostWebhooks = {
  signedBy: [`X-Hub-Signature-256: sha256=${BODY_HMAC}`],
  verify: (request, secret) => isSignedBody(request, secret, { signature: headerOf(request, 'x-hub-signature-256') }),

  deliveryId: (request) => headerOf(request, 'x-github-delivery'),

  parse(request) {
    const event = headerOf(request, 'x-github-event') ?? ''
    const parse = PARSERS.get(event)
    if (parse) return parse(request)
    const identifier = parseBody(anyHookSchema, request).repository?.full_name
    const ignored = event === 'ping' ? 'the webhook was created' : `the event "${event.slice(0, 50)}" starts no runs`
    return { identifier, ignored }
  },
}

/** The installation of a webhook of a GitHub App, and what happened to it, if that is what the webhook reports. */
export function parseAppWebhook(request: WebhookRequest): { installationId: number | undefined; change?: string } {
  const { installation, action } = parseBody(appHookSchema, request)
  const isAboutInstallation = headerOf(request, 'x-github-event') === 'installation'
  return { installationId: installation?.id, ...(isAboutInstallation && action !== undefined && { change: action }) }
}

function parsePush(request: WebhookRequest): ParsedWebhook {
  const body = parseBody(pushSchema, request)
  const identifier = body.repository.full_name
  const ref = parseRef(body.ref)
  if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }

  const { head_commit: head } = body
  const isDeleted = isNoCommit(body.after)
  if (ref.kind === 'tag') {
    if (!head && !isDeleted) return { identifier, ignored: `the tag ${ref.name} names no commit` }
    const commit = isDeleted || !head ? null : { sha: head.id, message: head.message, url: head.url }
    return { identifier, events: [{ kind: 'tag', tag: ref.name, commit, sender: senderOf(body.sender) }] }
  }
  const page = `${body.repository.html_url}/commit/${body.after}`
  return {
    identifier,
    events: [
      {
        kind: 'push',
        branch: ref.name,
        before: isNoCommit(body.before) ? null : body.before,
        commit: isDeleted ? null : { sha: body.after, message: head?.message ?? '', url: head?.url ?? page },
        compareUrl: body.compare,
        sender: senderOf(body.sender),
        changedFiles: isDeleted ? [] : changedFiles(body),
      },
    ],
  }
}

function parsePullRequest(request: WebhookRequest): ParsedWebhook {
  const { action, pull_request: body, changes, repository, sender: user } = parseBody(pullRequestHookSchema, request)
  const identifier = repository.full_name
  const pullRequest = pullRequestOf(body)
  const closed = body.merged_at ? 'merged' : 'closed'
  const edited = action === 'edited' && changes?.base ? 'updated' : undefined
  const known = action === 'closed' ? closed : (edited ?? PULL_REQUEST_ACTIONS.get(action))
  if (!known) return { identifier, ignored: `neither commits nor the base of the pull request changed (${action})` }
  return { identifier, events: [{ kind: 'pull-request', action: known, pullRequest, sender: senderOf(user) }] }
}

/** The body has at most 2048 commits of a push, and 3000 files of a commit. */
const MAX_COMMITS = 2048
const MAX_FILES = 3000

/** Paths changed by a push, or null if the body cannot list all of them. */
function changedFiles({ before, forced, commits, head_commit: head }: GithubPush): string[] | null {
  // Of a new branch there is nothing to compare with, and a forced push also undoes commits that the body does not list.
  if (forced || isNoCommit(before) || commits.length === 0 || commits.length >= MAX_COMMITS) return null
  if (commits.at(-1)?.id !== head?.id) return null
  const files = new Set<string>()
  for (const { added, removed, modified } of commits) {
    if (!added || !removed || !modified) return null
    const changed = [...added, ...removed, ...modified]
    if (changed.length >= MAX_FILES) return null
    for (const path of changed) files.add(path)
  }
  return [...files]
}

/** For a pull request of a webhook or of the API. */
export function pullRequestOf(body: GithubPullRequest): PullRequest {
  return {
    number: body.number,
    title: body.title,
    body: body.body ?? '',
    url: body.html_url,
    // The API has no message here; git has it.
    head: { sha: body.head.sha, message: '', url: `${body.html_url}/commits/${body.head.sha}`, branch: body.head.ref },
    base: { branch: body.base.ref, sha: body.base.sha },
    isFork: body.head.repo?.id !== body.base.repo.id,
    headRef: `refs/pull/${body.number}/head`,
    mergeSha: body.merged_at ? (body.merge_commit_sha ?? null) : null,
    author: senderOf(body.user),
  }
}

function senderOf(user: GithubAccount): Sender {
  // GitHub shows the same name for accounts that were deleted.
  return { username: user?.login ?? 'ghost', avatarUrl: user?.avatar_url ?? '', pageUrl: user?.html_url ?? '' }
}
