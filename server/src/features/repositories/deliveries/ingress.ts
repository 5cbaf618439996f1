import type { Insertable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { commitPage } from '../../../vcs-hosts/list.ts'
import { MAX_MESSAGE, type RepositoryRow } from '../git/store.ts'
import type { DeliveryRow } from './store.ts'

/** Longest description of a pull request that is kept, in characters. */
const MAX_BODY = 20_000

type Happened = {
  delivery: Pick<DeliveryRow, 'id' | 'received_at'>
  event: HostEvent
  repository: RepositoryRow
  changedFiles: readonly string[] | null
  /** For a pull request: the tip of the base, and the tree of the result. */
  merge: { base: string; tree: string } | null
}

/** That of the delivery, so that a job that runs again finds the commit. */
export function ingressId({ id }: Pick<DeliveryRow, 'id'>) {
  return id.replace(/^[a-z]+-/, 'ia-')
}

/** The commit of the runs that a delivery starts. Undefined for an event without a commit, which starts none. */
export function ingressRow({ delivery, event, repository, changedFiles, merge }: Happened) {
  const parts = partsOf(event)
  if (!parts) return undefined
  const { commit, ...rest } = parts
  const { sender } = event
  return {
    id: ingressId(delivery),
    repository_id: repository.id,
    identifier: repository.identifier,
    clone_url: repository.clone_url,
    commit_sha: commit.sha,
    commit_message: commit.message.slice(0, MAX_MESSAGE),
    commit_url: commit.url || commitPage(repository, commit.sha),
    on_default_branch: rest.branch === repository.default_branch,
    sender_username: sender.username,
    sender_avatar_url: sender.avatarUrl,
    sender_html_url: sender.pageUrl,
    changed_files: [...(changedFiles ?? [])],
    base_sha: merge?.base ?? null,
    tree_sha: merge?.tree ?? null,
    created_at: delivery.received_at,
    ...rest,
  } satisfies Insertable<Schema['ingress_attributes']>
}

const NO_PULL_REQUEST = {
  pull_request_number: null,
  pull_request_url: null,
  pull_request_title: null,
  pull_request_body: null,
  is_fork: false,
} as const

function partsOf(event: HostEvent) {
  if (event.kind === 'pull-request') {
    const { number, url, title, body, head, base, headRef, isFork } = event.pullRequest
    return {
      commit: head,
      branch: base.branch,
      commit_ref: headRef,
      tag: null,
      compare_url: url,
      pull_request_number: number,
      pull_request_url: url,
      pull_request_title: title.slice(0, MAX_MESSAGE),
      pull_request_body: body.slice(0, MAX_BODY),
      is_fork: isFork,
    }
  }
  if (event.commit === null) return undefined
  const { commit } = event
  if (event.kind === 'tag') {
    const { tag } = event
    return { commit, branch: '', commit_ref: `refs/tags/${tag}`, tag, compare_url: '', ...NO_PULL_REQUEST }
  }
  const { branch, compareUrl } = event
  return { commit, branch, commit_ref: `refs/heads/${branch}`, tag: null, compare_url: compareUrl, ...NO_PULL_REQUEST }
}
