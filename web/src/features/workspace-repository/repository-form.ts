import type { CreateWorkspace } from '@groundstate/contract/workspaces'
import type { WorkspaceAttributes } from '../workspaces/workspace.ts'
import { isInstallation } from './host-repositories.ts'

/** The trigger of runs: every push, pushes that change files, or tags. Each excludes the others. */
export type Trigger = 'always' | 'prefixes' | 'patterns' | 'tags'

export const TRIGGERS = {
  always: { text: 'Always', about: 'Every push to the branch starts a run.' },
  prefixes: { text: 'Only when files in directories change', about: 'Directories of the repository, one a line.' },
  patterns: { text: 'Only when files match a pattern', about: 'Such as /modules/**/*.tf, one a line.' },
  tags: { text: 'On tags', about: 'Tags that match a regular expression start runs; pushes to a branch do not.' },
} as const satisfies Record<Trigger, { text: string; about: string }>

/** The values of a form. Lists have one entry a line. */
export type RepositoryValues = {
  tokenId: string
  identifier: string
  branch: string
  submodules: boolean
  directory: string
  trigger: Trigger
  prefixes: string
  patterns: string
  tagsRegex: string
  plansPullRequests: boolean
  queuesAllRuns: boolean
  appliesReviewed: boolean
}

export const NO_REPOSITORY: RepositoryValues = {
  tokenId: '',
  identifier: '',
  branch: '',
  submodules: false,
  directory: '',
  trigger: 'always',
  prefixes: '',
  patterns: '',
  tagsRegex: '',
  plansPullRequests: true,
  queuesAllRuns: false,
  appliesReviewed: false,
}

/** The id of the token or of the installation through which a repository is used. */
export function connectionIdOf(repository: WorkspaceAttributes['vcs-repo']) {
  return repository?.['oauth-token-id'] ?? repository?.['github-app-installation-id'] ?? ''
}

type Saved = Pick<
  WorkspaceAttributes,
  | 'vcs-repo'
  | 'working-directory'
  | 'file-triggers-enabled'
  | 'trigger-prefixes'
  | 'trigger-patterns'
  | 'speculative-enabled'
  | 'queue-all-runs'
  | 'auto-apply-reviewed'
>

export function repositoryValues(attributes: Saved): RepositoryValues {
  const repository = attributes['vcs-repo']
  return {
    tokenId: connectionIdOf(repository),
    identifier: repository?.identifier ?? '',
    branch: repository?.branch ?? '',
    submodules: repository?.['ingress-submodules'] ?? false,
    directory: attributes['working-directory'],
    trigger: triggerOf(attributes),
    prefixes: attributes['trigger-prefixes'].join('\n'),
    patterns: attributes['trigger-patterns'].join('\n'),
    tagsRegex: repository?.['tags-regex'] ?? '',
    plansPullRequests: attributes['speculative-enabled'],
    queuesAllRuns: attributes['queue-all-runs'],
    appliesReviewed: attributes['auto-apply-reviewed'],
  }
}

function triggerOf(attributes: Saved): Trigger {
  if (attributes['vcs-repo']?.['tags-regex']) return 'tags'
  if (!attributes['file-triggers-enabled']) return 'always'
  if (attributes['trigger-patterns'].length > 0) return 'patterns'
  // Without a directory, every file counts.
  const isEverything = attributes['trigger-prefixes'].length === 0 && attributes['working-directory'] === ''
  return isEverything ? 'always' : 'prefixes'
}

const REPOSITORY_FIELDS = ['tokenId', 'identifier', 'branch', 'submodules'] as const
const TRIGGER_FIELDS = ['trigger', 'prefixes', 'patterns', 'tagsRegex', 'directory'] as const

/** The attributes that save the changes; `values` are those of the whole form. Settings that exclude each other are sent together. */
export function repositoryAttributes(
  changes: Partial<RepositoryValues>,
  values: RepositoryValues,
): Partial<CreateWorkspace['attributes']> {
  const hasTriggers = TRIGGER_FIELDS.some((name) => name in changes)
  const hasRepository =
    REPOSITORY_FIELDS.some((name) => name in changes) || 'trigger' in changes || 'tagsRegex' in changes
  const { trigger, directory } = values
  return {
    ...(hasRepository && { 'vcs-repo': vcsRepo(values) }),
    ...(changes.directory !== undefined && { 'working-directory': directory.trim() }),
    ...(hasTriggers && {
      'file-triggers-enabled': trigger === 'prefixes' || trigger === 'patterns',
      'trigger-prefixes': trigger === 'prefixes' ? lines(values.prefixes) : [],
      'trigger-patterns': trigger === 'patterns' ? lines(values.patterns) : [],
    }),
    ...(changes.plansPullRequests !== undefined && { 'speculative-enabled': changes.plansPullRequests }),
    ...(changes.queuesAllRuns !== undefined && { 'queue-all-runs': changes.queuesAllRuns }),
    ...(changes.appliesReviewed !== undefined && { 'auto-apply-reviewed': changes.appliesReviewed }),
  }
}

/** The repository itself. Installations of the GitHub App have ids of their own. */
export function vcsRepo({ tokenId, identifier, branch, submodules, trigger, tagsRegex }: RepositoryValues) {
  return {
    ...(isInstallation(tokenId) ? { 'github-app-installation-id': tokenId } : { 'oauth-token-id': tokenId }),
    identifier: identifier.trim(),
    branch: trigger === 'tags' ? '' : branch.trim(),
    'ingress-submodules': submodules,
    'tags-regex': trigger === 'tags' ? tagsRegex.trim() : '',
  }
}

function lines(text: string) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Why the form cannot be saved. */
export function repositoryProblem({ tokenId, identifier, trigger, ...values }: RepositoryValues) {
  if (tokenId === '') return 'select a connection'
  if (identifier.trim() === '') return 'select a repository'
  if (trigger === 'tags' && values.tagsRegex.trim() === '') return 'enter the pattern of the tags'
  if (trigger === 'patterns' && lines(values.patterns).length === 0) return 'enter a pattern'
  return undefined
}
