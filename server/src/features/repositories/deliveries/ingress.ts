import type { Insertable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import type { DeliveryRow, RepositoryRow } from './store.ts'

/** Longest texts of a commit and of a pull request that are kept, in characters. */
const MAX_MESSAGE = 4000
const MAX_BODY = 20_000

type Happened = { delivery: Pick<DeliveryRow, 'id'>; event: HostEvent; repository: RepositoryRow }

/**
 * The commit of the runs that a delivery starts; its id is that of the delivery, so that a job that runs again finds it. Undefined for an
 * event without a commit, which starts none.
 */
export function ingressRow(ctx: Ctx, { delivery, event, repository }: Happened) {
  const parts = partsOf(event)
  if (!parts) return undefined
  const { commit, ...rest } = parts
  const { sender } = event
  return {
    id: delivery.id.replace(/^[a-z]+-/, 'ia-'),
    repository_id: repository.id,
    identifier: repository.identifier,
    clone_url: repository.clone_url,
    commit_sha: commit.sha,
    commit_message: commit.message.slice(0, MAX_MESSAGE),
    commit_url: commit.url,
    on_default_branch: rest.branch === repository.default_branch,
    sender_username: sender.username,
    sender_avatar_url: sender.avatarUrl,
    sender_html_url: sender.pageUrl,
    is_fork: event.kind === 'pull-request' && event.pullRequest.isFork,
    created_at: ctx.now(),
    ...rest,
  } satisfies Insertable<Schema['ingress_attributes']>
}

const NO_PULL_REQUEST = {
  pull_request_number: null,
  pull_request_url: null,
  pull_request_title: null,
  pull_request_body: null,
} as const

function partsOf(event: HostEvent) {
  if (event.kind === 'pull-request') {
    const { number, url, title, body, head, base } = event.pullRequest
    return {
      commit: head,
      branch: base.branch,
      tag: null,
      compare_url: url,
      pull_request_number: number,
      pull_request_url: url,
      pull_request_title: title.slice(0, MAX_MESSAGE),
      pull_request_body: body.slice(0, MAX_BODY),
    }
  }
  if (event.commit === null) return undefined
  const { commit } = event
  if (event.kind === 'tag') return { commit, branch: '', tag: event.tag, compare_url: '', ...NO_PULL_REQUEST }
  return { commit, branch: event.branch, tag: null, compare_url: event.compareUrl, ...NO_PULL_REQUEST }
}
