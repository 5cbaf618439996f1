import type { GitResult } from '@groundstate/contract/git-operations'
import type { ModuleCommitResource } from '@groundstate/contract/registry-modules'
import {
  type PublicationReason,
  type VcsPublicationResource,
  describePublication,
} from '@groundstate/contract/vcs-publications'
import { commitPage } from '../../../vcs-hosts/list.ts'
import type { PublicationRow } from './store.ts'

export function publicationResource(row: PublicationRow): VcsPublicationResource {
  const reason = row.reason as PublicationReason
  const related = <Type extends string>(type: Type, id: string | null) => ({ data: id === null ? null : { id, type } })
  return {
    id: row.id,
    type: 'vcs-publications',
    attributes: {
      name: row.name,
      status: row.status,
      reason,
      description: describePublication(reason, row.detail),
      message: row.message,
      version: row.version,
      'commit-sha': row.commit_sha,
      'created-at': row.created_at,
      'ended-at': row.ended_at,
    },
    relationships: {
      delivery: related('vcs-deliveries', row.delivery_id),
      'registry-module': related('registry-modules', row.registry_module_id),
      'policy-set': related('policy-sets', row.policy_set_id),
    },
  }
}

type Commit = GitResult<'log'>['commits'][number]

export function moduleCommitResource(
  repository: Parameters<typeof commitPage>[0],
  { sha, message, author, authoredAt }: Commit,
): ModuleCommitResource {
  return {
    id: sha,
    type: 'commit',
    attributes: {
      sha,
      date: new Date(authoredAt),
      url: commitPage(repository, sha),
      author: author.name,
      'author-avatar-url': '',
      'author-html-url': '',
      message,
    },
  }
}
