import type { configurationVersionSchema, ingressAttributesSchema } from '@groundstate/contract/configuration-versions'
import type { Wire } from '@groundstate/contract/responses'
import { GitCommitHorizontal, GitPullRequest, Tag } from 'lucide-react'
import type { ReactNode } from 'react'
import { ExternalLink } from '../../components/links.tsx'

/** The commit of a run's configuration. */
export type RunCommit = Wire<typeof ingressAttributesSchema>
type CommitAttributes = RunCommit['attributes']

export type RunConfiguration = Wire<typeof configurationVersionSchema>

/** Whether a configuration comes from a repository. Its commit is unknown until the host has said the tip of the branch. */
export function isFetched({ attributes: { source } }: RunConfiguration) {
  return !['tfe-api', 'terraform', 'terraform+cloud'].includes(source)
}

export function shortSha(sha: string) {
  return sha.slice(0, 8)
}

/** "push to main", "tag v1.2.0", "pull request #12". */
export function commitOrigin({ attributes: commit }: RunCommit) {
  if (commit['is-pull-request']) return `pull request #${commit['pull-request-number'] ?? '?'}`
  return commit.tag === null ? `push to ${commit.branch}` : `tag ${commit.tag}`
}

/** The commit that a run plans, with what happened in the repository and links to its host. `hasSender` if the page does not name it yet. */
export function CommitLine({ commit, hasSender }: { commit: RunCommit; hasSender: boolean }) {
  const { attributes } = commit
  const isPullRequest = attributes['is-pull-request']
  const Icon = isPullRequest ? GitPullRequest : attributes.tag === null ? GitCommitHorizontal : Tag
  const compareUrl = attributes['compare-url']
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="inline-flex min-w-0 flex-wrap items-center gap-x-1.5">
        <Icon size={16} className="shrink-0" />
        <MaybeLink href={attributes['commit-url']}>
          <code title={attributes['commit-sha']}>{shortSha(attributes['commit-sha'])}</code>
        </MaybeLink>
        {isPullRequest ? (
          <>
            {'of '}
            <MaybeLink href={attributes['pull-request-url']}>
              {`#${attributes['pull-request-number'] ?? '?'} ${attributes['pull-request-title'] ?? ''}`.trim()}
            </MaybeLink>
            {`into ${attributes.branch}`}
          </>
        ) : (
          <span className="min-w-0 break-words">
            {attributes.tag === null ? `on ${attributes.branch}` : `tag ${attributes.tag}`}
          </span>
        )}
        <span className="min-w-0 break-words">in {attributes.identifier}</span>
      </span>
      {hasSender && attributes['sender-username'] !== '' && <span>by {attributes['sender-username']}</span>}
      {!isPullRequest && compareUrl !== '' && <ExternalLink href={compareUrl}>Compare</ExternalLink>}
    </p>
  )
}

/** The abbreviated SHA, in lists. */
export function CommitCode({ commit: { attributes } }: { commit: RunCommit }) {
  return (
    <>
      {' '}
      <code title={attributes['commit-sha']}>{shortSha(attributes['commit-sha'])}</code>
    </>
  )
}

/** A text that is a link if the host has said where to. */
function MaybeLink({ href, children }: { href: string | null; children: ReactNode }) {
  return href ? <ExternalLink href={href}>{children}</ExternalLink> : children
}

/** Explains the wait of a run whose configuration is being fetched. */
export function fetchingText(commit: Pick<RunCommit, 'attributes'> | undefined) {
  if (!commit) return 'Fetching the configuration.'
  const { identifier, 'commit-sha': sha }: CommitAttributes = commit.attributes
  return `Fetching the configuration from ${identifier} at ${shortSha(sha)}.`
}
