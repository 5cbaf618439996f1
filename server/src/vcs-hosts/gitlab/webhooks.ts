import { createHash, createHmac } from 'node:crypto'
import { headerOf, isNoCommit, isSame, NOBODY, parseBody, parseRef } from '../bodies.ts'
import type { HostEvent, HostWebhooks, ParsedWebhook, PullRequest, PullRequestEvent, WebhookRequest } from '../host.ts'
import {
  type GitLabMergeRequestHook,
  type GitLabPush,
  kindSchema,
  mergeRequestHookSchema,
  pushSchema,
} from './schemas.ts'

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['open', 'opened'],
  ['reopen', 'opened'],
  ['merge', 'merged'],
  ['close', 'closed'],
])

/** Settings of webhooks to create. */
export const EVENTS = { pushEvents: true, tagPushEvents: true, mergeRequestsEvents: true }

export const gitlabWebhooks: HostWebhooks = {
  signedBy: ['X-Gitlab-Token: <secret>', 'Webhook-Signature: v1,<HMAC-SHA256 by the signing token, in base64>'],
  verify(request, secret) {
    const signature = headerOf(request, 'webhook-signature')
    const token = headerOf(request, 'x-gitlab-token')
    if (signature === undefined) return isSame(token, secret)
    return isSigned(request, signature, secret) && (token === undefined || isSame(token, secret))
  },
  // `X-Gitlab-Event-UUID` is not enough: events that another webhook has caused share it.
  deliveryId: (request) => headerOf(request, 'webhook-id') ?? headerOf(request, 'idempotency-key'),
  parse(request) {
    const { object_kind: kind, project } = parseBody(kindSchema, request)
    if (kind === 'push' || kind === 'tag_push') return parsePush(parseBody(pushSchema, request))
    if (kind === 'merge_request') return parseMergeRequest(parseBody(mergeRequestHookSchema, request))
    return { identifier: project?.path_with_namespace, ignored: `events of kind ${kind} start nothing` }
  },
}

/** The signing token of a webhook. GitLab requires 32 bytes in base64, so it is derived from the secret. */
export const signingToken = (secret: string) => `whsec_${signingKey(secret).toString('base64')}`

const signingKey = (secret: string) => createHash('sha256').update(secret).digest()

/**
 * The signature of Standard Webhooks. The timestamp has no effect here: a replay has the same id, and each id is processed once.
 */
function isSigned(request: WebhookRequest, signatures: string, secret: string): boolean {
  const signed = `${headerOf(request, 'webhook-id') ?? ''}.${headerOf(request, 'webhook-timestamp') ?? ''}.`
  const digest = createHmac('sha256', signingKey(secret)).update(signed).update(request.body).digest('base64')
  return signatures.split(' ').some((signature) => isSame(signature, `v1,${digest}`))
}

function parsePush(body: GitLabPush): ParsedWebhook {
  const { project, before, after } = body
  const identifier = project.path_with_namespace
  const ref = parseRef(body.ref)
  if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }
  const sha = isNoCommit(after) ? null : (body.checkout_sha ?? after)
  const message = body.commits.find(({ id }) => id === sha)?.message ?? ''
  const commit = sha === null ? null : { sha, message, url: `${project.web_url}/-/commit/${sha}` }
  const sender = {
    username: body.user_username ?? body.user_name,
    avatarUrl: body.user_avatar ?? '',
    pageUrl: body.user_username ? userPage(project, body.user_username) : '',
  }
  if (ref.kind === 'tag') return { identifier, events: [{ kind: 'tag', tag: ref.name, commit, sender }] }
  const compareUrl =
    commit === null || isNoCommit(before) ? (commit?.url ?? '') : `${project.web_url}/-/compare/${before}...${after}`
  const event: HostEvent = {
    kind: 'push',
    branch: ref.name,
    before: isNoCommit(before) ? null : before,
    commit,
    compareUrl,
    sender,
    // The body lists files per new commit, and does not say whether a forced push has removed others.
    changedFiles: null,
  }
  return { identifier, events: [event] }
}

function parseMergeRequest(body: GitLabMergeRequestHook): ParsedWebhook {
  const { project, user, object_attributes: attributes, changes } = body
  const identifier = project.path_with_namespace
  const { action = '' } = attributes
  const isUpdate = action === 'update' && (attributes.oldrev != null || changes.target_branch !== undefined)
  const known = isUpdate ? 'updated' : PULL_REQUEST_ACTIONS.get(action)
  if (known === undefined) return { identifier, ignored: `neither commits nor the target branch changed (${action})` }
  const sender = {
    username: user.username,
    avatarUrl: user.avatar_url ?? '',
    pageUrl: userPage(project, user.username),
  }
  const pullRequest: PullRequest = {
    number: attributes.iid,
    title: attributes.title,
    body: attributes.description ?? '',
    url: attributes.url,
    head: {
      branch: attributes.source_branch,
      sha: attributes.last_commit.id,
      message: attributes.last_commit.message,
      url: attributes.last_commit.url,
    },
    base: { branch: attributes.target_branch, sha: null },
    isFork: attributes.source_project_id !== attributes.target_project_id,
    headRef: mergeRequestRef(attributes.iid),
    mergeSha: attributes.merge_commit_sha ?? null,
    // The body has no more than the id of the author.
    author: attributes.author_id === user.id ? sender : NOBODY,
  }
  return { identifier, events: [{ kind: 'pull-request', action: known, pullRequest, sender }] }
}

export const mergeRequestRef = (number: number) => `refs/merge-requests/${number}/head`

function userPage(project: { web_url: string; path_with_namespace: string }, username: string) {
  const url = project.web_url
  const base = url.endsWith(`/${project.path_with_namespace}`) ? url.slice(0, -project.path_with_namespace.length) : ''
  return base === '' ? '' : `${base}${username}`
}
