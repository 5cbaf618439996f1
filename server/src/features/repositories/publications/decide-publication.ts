import { isModuleVersion } from '@groundstate/contract/registry-modules'
import type { PublicationReason } from '@groundstate/contract/vcs-publications'
import type { EventCommit, HostEvent } from '../../../vcs-hosts/host.ts'
import { triggerPattern } from '../../vcs/repositories/trigger-pattern.ts'
import { MAX_CHANGED_FILES } from '../deliveries/decide.ts'

/** How a module is published: by tags, or by commits of a branch that people name. */
export type ModuleRule = { tags: boolean; branch: string | null; tagPrefix: string }
/** `branch` is the default branch of the repository if the set names none. */
export type PolicySetRule = { branch: string; policiesPath: string; updatePatterns: readonly string[] }

type Reason = { reason: PublicationReason; detail: string | null }
/** Without `publish`, nothing is published. */
export type Decided = Reason & { publish?: { commit: EventCommit; ref: string; version: string | null } }

const skip = (reason: PublicationReason, detail: string | null = null): Reason => ({ reason, detail })

/**
 * The version that a tag publishes: what follows the prefix, with or without a `v` (public documentation: "Publish private modules"). Undefined
 * for other tags.
 */
export function taggedVersion(tag: string, prefix: string) {
  if (!tag.startsWith(prefix)) return undefined
  const version = tag.slice(prefix.length).replace(/^v/, '')
  return isModuleVersion(version) ? version : undefined
}

/** The form of tags that publish a module. */
export function expectedTag(prefix: string) {
  return `${prefix}1.2.0 or ${prefix}v1.2.0`
}

/** Whether an event publishes a version of a module. Pure. */
export function decideModule({ tags, branch, tagPrefix }: ModuleRule, event: HostEvent): Decided {
  if (event.kind === 'pull-request') return skip('no-pull-requests')
  if (!tags) return skip('publishes-commits', branch)
  if (event.kind === 'push') return skip('publishes-tags')
  const { tag, commit } = event
  const version = taggedVersion(tag, tagPrefix)
  if (version === undefined) return skip('no-version', expectedTag(tagPrefix))
  if (commit === null) return skip('tag-deleted')
  return { reason: 'tagged', detail: tag, publish: { commit, ref: `refs/tags/${tag}`, version } }
}

/** Whether an event publishes a version of a policy set, leaving aside the changed files. Pure. */
export function decidePolicySet({ branch }: PolicySetRule, event: HostEvent): Decided {
  if (event.kind === 'pull-request') return skip('no-pull-requests')
  if (event.kind === 'tag') return skip('no-tags')
  if (event.branch !== branch) return skip('other-branch', branch)
  const { commit } = event
  if (commit === null) return skip('branch-deleted')
  return { reason: 'pushed', detail: branch, publish: { commit, ref: `refs/heads/${branch}`, version: null } }
}

/** Why changed files do not concern a policy set; undefined if they do. They are null if they are unknown or too many. */
export function filesRefusal(rule: PolicySetRule, changedFiles: readonly string[] | null): Reason | undefined {
  if (changedFiles === null || changedFiles.length >= MAX_CHANGED_FILES) return undefined
  const patterns = patternsOf(rule)
  if (patterns.length === 0) return undefined
  const matchers = patterns.map(triggerPattern)
  if (changedFiles.some((path) => matchers.some((matches) => matches(path)))) return undefined
  return skip('no-matching-files', patterns.join(', '))
}

/** Whether the decision depends on the changed files. */
export function dependsOnFiles(rule: PolicySetRule) {
  return patternsOf(rule).length > 0
}

/** Patterns replace the policies' path (public documentation: "Policy sets API"). */
function patternsOf({ policiesPath, updatePatterns }: PolicySetRule) {
  if (updatePatterns.length > 0) return updatePatterns
  return policiesPath === '' ? [] : [`${escaped(policiesPath)}/**`]
}

function escaped(path: string) {
  return path.replaceAll(/[\\*?[\]{},]/g, String.raw`\$&`)
}
