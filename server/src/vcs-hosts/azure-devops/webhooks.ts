import { branchName, decoded, headerOf, isNoCommit, isSame, parseBody, parseRef, withoutUser } from '../bodies.ts'
import type { HostEvent, HostWebhooks, PullRequest, Sender, WebhookRequest } from '../host.ts'
import {
  type AzurePerson,
  type AzureRepository,
  eventSchema,
  type ListedPullRequest,
  pullRequestHookSchema,
  pushSchema,
} from './schemas.ts'

/** Azure DevOps does not sign requests: it sends a user and a password, which is the secret. */
export const WEBHOOK_USER = 'groundstate'

/** Events of service hooks to create. Filters leave out votes and reviewers, which updates do not show. */
export const EVENTS = [
  { eventType: 'git.push' },
  { eventType: 'git.pullrequest.created' },
  { eventType: 'git.pullrequest.updated', notificationType: 'PushNotification' },
  { eventType: 'git.pullrequest.updated', notificationType: 'StatusUpdateNotification' },
]

export const azureDevopsWebhooks: HostWebhooks = {
  signedBy: ['Authorization: Basic <groundstate:secret in base64>'],
  verify(request, secret) {
    const credential = Buffer.from(`${WEBHOOK_USER}:${secret}`).toString('base64')
    return isSame(headerOf(request, 'authorization'), `Basic ${credential}`)
  },
  deliveryId(request) {
    try {
      return parseBody(eventSchema, request).id
    } catch {
      return undefined
    }
  },
  parse(request) {
    const { eventType } = parseBody(eventSchema, request)
    if (eventType === 'git.push') return parsePush(request)
    if (eventType.startsWith('git.pullrequest.')) return parsePullRequest(request, eventType)
    return { identifier: undefined, ignored: `events of kind ${eventType} start nothing` }
  },
}

function parsePush(request: WebhookRequest) {
  const { repository, refUpdates, commits, pushedBy } = parseBody(pushSchema, request).resource
  const identifier = identifierOf(repository)
  const page = pageOf(repository)
  const sender = senderOf(pushedBy)
  const events = refUpdates.flatMap(({ name, oldObjectId, newObjectId }): HostEvent[] => {
    const message = commits?.find(({ commitId }) => commitId === newObjectId)?.comment ?? ''
    const commit = isNoCommit(newObjectId) ? null : { sha: newObjectId, message, url: `${page}/commit/${newObjectId}` }
    const ref = parseRef(name)
    if (!ref) return []
    if (ref.kind === 'tag') return [{ kind: 'tag', tag: ref.name, commit, sender }]
    const before = isNoCommit(oldObjectId) ? null : oldObjectId
    const compareUrl =
      before === null || commit === null
        ? (commit?.url ?? '')
        : `${page}/branchCompare?baseVersion=GC${before}&targetVersion=GC${newObjectId}`
    return [{ kind: 'push', branch: ref.name, before, commit, compareUrl, sender, changedFiles: null }]
  })
  const [first, ...others] = events
  if (first === undefined) return { identifier, ignored: 'no branch or tag changed' }
  return { identifier, events: [first, ...others] as [HostEvent, ...HostEvent[]] }
}

function parsePullRequest(request: WebhookRequest, eventType: string) {
  const row = parseBody(pullRequestHookSchema, request).resource
  const identifier = identifierOf(row.repository)
  const action = actionOf(eventType, row.status)
  if (action === undefined) return { identifier, ignored: `events of kind ${eventType} start nothing` }
  const pullRequest = pullRequestOf(row, row.repository)
  // The body does not say who changed it.
  const event: HostEvent = { kind: 'pull-request', action, pullRequest, sender: pullRequest.author }
  return { identifier, events: [event] as [HostEvent] }
}

function actionOf(eventType: string, status: string) {
  if (eventType === 'git.pullrequest.created') return 'opened'
  if (eventType === 'git.pullrequest.updated') {
    if (status === 'completed') return 'merged'
    return status === 'abandoned' ? 'closed' : 'updated'
  }
  // `merged` is sent for trial merges of active pull requests, too.
  return eventType === 'git.pullrequest.merged' && status === 'completed' ? 'merged' : undefined
}

/** For a pull request of a webhook or of the API. */
export function pullRequestOf(row: ListedPullRequest, repository: AzureRepository): PullRequest {
  const page = pageOf(repository)
  const isFork = row.forkSource != null
  const sha = row.lastMergeSourceCommit.commitId
  return {
    number: row.pullRequestId,
    title: row.title,
    body: row.description ?? '',
    url: `${page}/pullrequest/${row.pullRequestId}`,
    head: { branch: branchName(row.sourceRefName), sha, message: '', url: `${page}/commit/${sha}` },
    base: { branch: branchName(row.targetRefName), sha: row.lastMergeTargetCommit?.commitId ?? null },
    isFork,
    // Azure DevOps has refs for trial merges only.
    headRef: isFork ? null : row.sourceRefName,
    mergeSha: row.status === 'completed' ? (row.lastMergeCommit?.commitId ?? null) : null,
    author: senderOf(row.createdBy),
  }
}

/** `organization/project/_git/repository`; on Azure DevOps Server, the collection takes the place of the organization. */
export function identifierOf({ project, name, remoteUrl }: AzureRepository): string {
  const url = new URL(remoteUrl)
  // Older addresses have the organization in the name of the host: `https://acme.visualstudio.com/project/_git/repository`.
  const [account, domain] = url.hostname.split(/\.(.*)/)
  const before = (url.pathname.split('/_git/')[0] ?? '').split('/').filter((part) => part !== '')
  // The project is left out if the repository has its name.
  const hasProject = before.length > 1 && decoded(before.at(-1) ?? '') === project.name
  const collection = url.hostname === 'dev.azure.com' ? before[0] : before.at(hasProject ? -2 : -1)
  const owner = domain === 'visualstudio.com' ? account : collection
  return `${decoded(owner ?? '')}/${project.name}/_git/${name}`
}

const pageOf = ({ webUrl, remoteUrl }: AzureRepository) => webUrl ?? withoutUser(remoteUrl)

function senderOf({ uniqueName, displayName, imageUrl }: AzurePerson): Sender {
  return { username: uniqueName ?? displayName, avatarUrl: imageUrl ?? '', pageUrl: '' }
}
