import type { DECISIONS, DecisionReason } from '@groundstate/contract/vcs-deliveries'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { RE2JS } from 're2js'
import type { HostEvent, PullRequestEvent, PushEvent, TagEvent } from '../../../vcs-hosts/host.ts'
import { triggerPattern } from '../../vcs/repositories/trigger-pattern.ts'

/** The settings of a workspace that decide about deliveries. */
export type WorkspaceRule = {
  /** The workspace's branch, or the default branch of the repository. */
  branch: string
  tagsRegex: string | null
  fileTriggersEnabled: boolean
  triggerPrefixes: readonly string[]
  triggerPatterns: readonly string[]
  workingDirectory: string
  queueAllRuns: boolean
  speculativeEnabled: boolean
  hasRuns: boolean
  isLocal: boolean
  /** Whether the connection is for the workspace's project. */
  isInScope: boolean
}

export type EventContext = {
  event: HostEvent
  /** Null if they are unknown or too many to list: then every workspace is affected. */
  changedFiles: readonly string[] | null
  plansForks: boolean
  /** Files in which a pull request conflicts with its base; null if it does not, or unless git has been asked. */
  conflicts: readonly string[] | null
}

export type Decision = { decision: (typeof DECISIONS)[number]; reason: DecisionReason; detail: string | null }

/** From this number of changed files on, hosts do not list all, and every workspace is affected (public documentation: "VCS-driven runs"). */
export const MAX_CHANGED_FILES = 300

/** Decides whether an event starts a run in a workspace, leaving aside its earlier runs. Pure. */
export function decide(rule: WorkspaceRule, context: EventContext): Decision {
  const { event } = context
  const refusal = refusalOf(rule, event) ?? obstacleOf(rule) ?? filesRefusal(rule, context)
  if (refusal) return refusal
  switch (event.kind) {
    case 'push':
      return { decision: 'run', reason: 'pushed', detail: event.branch }
    case 'tag':
      return { decision: 'run', reason: 'tagged', detail: event.tag }
    case 'pull-request': {
      if (event.pullRequest.isFork && !context.plansForks) return skip('from-fork')
      if (context.conflicts !== null) return skip('merge-conflict', listed(context.conflicts))
      return { decision: 'plan', reason: 'pull-request', detail: `#${event.pullRequest.number}` }
    }
  }
}

/** Whether the decision depends on the changed files. */
export function dependsOnFiles(rule: WorkspaceRule) {
  return fileFilter(rule) !== EVERY_FILE
}

const MAX_LISTED = 5

function listed(paths: readonly string[]) {
  const rest = paths.length - MAX_LISTED
  return `${paths.slice(0, MAX_LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

function skip(reason: DecisionReason, detail: string | null = null): Decision {
  return { decision: 'skip', reason, detail }
}

function refusalOf(rule: WorkspaceRule, event: HostEvent): Decision | undefined {
  switch (event.kind) {
    case 'push':
      return pushRefusal(rule, event)
    case 'tag':
      return tagRefusal(rule, event)
    case 'pull-request':
      return pullRequestRefusal(rule, event)
  }
}

function pushRefusal({ branch, tagsRegex }: WorkspaceRule, event: PushEvent) {
  if (tagsRegex !== null) return skip('tags-only', tagsRegex)
  if (event.branch !== branch) return skip('other-branch', branch)
  return event.commit === null ? skip('branch-deleted') : undefined
}

function tagRefusal({ branch, tagsRegex }: WorkspaceRule, { tag, commit }: TagEvent) {
  if (tagsRegex === null) return skip('no-tags', branch)
  if (!RE2JS.compile(tagsRegex).matcher(tag).find()) return skip('other-tag', tagsRegex)
  return commit === null ? skip('tag-deleted') : undefined
}

function pullRequestRefusal(rule: WorkspaceRule, { action, pullRequest }: PullRequestEvent) {
  if (rule.tagsRegex !== null) return skip('tags-only', rule.tagsRegex)
  if (pullRequest.base.branch !== rule.branch) return skip('other-base', rule.branch)
  if (action === 'closed' || action === 'merged') return skip('pull-request-closed')
  return rule.speculativeEnabled ? undefined : skip('no-speculative-plans')
}

function obstacleOf({ isInScope, isLocal, hasRuns, queueAllRuns }: WorkspaceRule) {
  if (!isInScope) return skip('not-in-scope')
  if (isLocal) return skip('local-execution')
  return hasRuns || queueAllRuns ? undefined : skip('no-first-run')
}

/** Tags trigger whatever has changed: no earlier commit is known to compare with. */
function filesRefusal(rule: WorkspaceRule, { event, changedFiles }: EventContext) {
  if (event.kind === 'tag' || changedFiles === null || changedFiles.length >= MAX_CHANGED_FILES) return undefined
  const filter = fileFilter(rule)
  // An empty commit has no files.
  if (filter === EVERY_FILE || changedFiles.some(filter.matches)) return undefined
  return skip('no-matching-files', filter.description)
}

type FileFilter = { description: string; matches: (path: string) => boolean }
const EVERY_FILE: FileFilter = { description: 'any path', matches: () => true }

/** Patterns replace the working directory; prefixes add to the working directory (public documentation: "Workspace settings: VCS"). */
function fileFilter(rule: WorkspaceRule): FileFilter {
  if (!rule.fileTriggersEnabled) return EVERY_FILE
  if (rule.triggerPatterns.length > 0) {
    const patterns = rule.triggerPatterns.map(triggerPattern)
    return {
      description: rule.triggerPatterns.join(', '),
      matches: (path) => patterns.some((matches) => matches(path)),
    }
  }
  const directories = [rule.workingDirectory, ...rule.triggerPrefixes].map(normalizedDirectory)
  if (rule.triggerPrefixes.length === 0 && directories[0] === '') return EVERY_FILE
  const own = rule.triggerPrefixes.length > 0 && directories[0] === '' ? directories.slice(1) : directories
  const isWithin = (path: string) => own.some((directory) => directory === '' || path.startsWith(`${directory}/`))
  return { description: own.map((directory) => `${directory}/`).join(', '), matches: isWithin }
}
