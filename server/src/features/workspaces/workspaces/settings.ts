import { checkRef } from '@groundstate/agent/git/refs'
import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Updateable } from 'kysely'
import { RE2JS } from 're2js'
import type { Schema } from '../../../db/schema.gen.ts'
import { invalid } from '../../../errors.ts'
import { checkOverwrites, requestedPool } from '../../organizations/organizations/access.ts'
import type { Project } from '../../organizations/projects/access.ts'
import type { ConnectionKey } from '../../vcs/repositories/store.ts'
import { triggerPattern } from '../../vcs/repositories/trigger-pattern.ts'
import type { Workspace } from './access.ts'

type Attributes = UpdateWorkspace['attributes']

/**
 * The columns that a body's plain settings change. An absent setting is unchanged; null resets it to its default. `clientEngine` is the
 * version of the CLI that sends the body. The CLI sets its own version on each workspace that it creates, so that version is not a
 * requirement of the user.
 */
export function workspaceSettingColumns(
  attributes: Attributes,
  { clientEngine, current }: { clientEngine: string | undefined; current?: Workspace },
): Updateable<Schema['workspaces']> {
  const engine = withDefault(attributes['engine-version'] ?? attributes['terraform-version'], 'latest')
  return {
    name: attributes.name,
    description: attributes.description,
    engine_version: engine,
    engine_version_required: engine === undefined ? undefined : engine !== clientEngine,
    working_directory: withDefault(attributes['working-directory'], ''),
    auto_apply: withDefault(attributes['auto-apply'], false),
    auto_apply_run_trigger: withDefault(attributes['auto-apply-run-trigger'], false),
    auto_apply_reviewed: withDefault(attributes['auto-apply-reviewed'], false),
    trigger_only_on_output_change: withDefault(attributes['trigger-only-on-output-change'], false),
    allow_destroy_plan: withDefault(attributes['allow-destroy-plan'], true),
    assessments_enabled: withDefault(attributes['assessments-enabled'], false),
    ...triggerColumns(attributes, current),
    queue_all_runs: withDefault(attributes['queue-all-runs'], false),
    speculative_enabled: withDefault(attributes['speculative-enabled'], true),
    structured_run_output_enabled: withDefault(attributes['structured-run-output-enabled'], true),
    global_remote_state: withDefault(attributes['global-remote-state'], false),
    project_remote_state: withDefault(attributes['project-remote-state'], false),
    ...autoDestroyColumns(attributes, current),
    source_name: attributes['source-name'],
    source_url: attributes['source-url'],
  }
}

/** A workspace has prefixes or patterns: setting one of them, even to an empty list, clears the other. Both need file triggers. */
function triggerColumns(attributes: Attributes, current: Workspace | undefined) {
  const { 'trigger-prefixes': prefixes, 'trigger-patterns': patterns, 'file-triggers-enabled': enabled } = attributes
  if (prefixes?.length && patterns?.length) {
    throw invalid(
      'trigger-prefixes and trigger-patterns cannot both be set: omit one of them or leave it empty',
      '/data/attributes/trigger-patterns',
    )
  }
  for (const [index, pattern] of (patterns ?? []).entries())
    checkExpression(pattern, triggerPattern, `/data/attributes/trigger-patterns/${index}`)
  const tagsRegex = tagsRegexAfter(attributes, current)
  const columns = {
    // Tags trigger whatever files have changed.
    file_triggers_enabled: withDefault(enabled, true) ?? (attributes['vcs-repo']?.['tags-regex'] ? false : undefined),
    trigger_prefixes: prefixes === undefined && patterns ? [] : withDefault(prefixes, []),
    trigger_patterns: patterns === undefined && prefixes ? [] : withDefault(patterns, []),
  }
  const isDisabled = (columns.file_triggers_enabled ?? current?.file_triggers_enabled) === false
  const triggers = [
    { name: 'trigger-prefixes', list: columns.trigger_prefixes ?? current?.trigger_prefixes },
    { name: 'trigger-patterns', list: columns.trigger_patterns ?? current?.trigger_patterns },
  ] as const
  const used = triggers.find(({ list }) => list?.length)?.name
  if (tagsRegex) {
    const rival =
      used ?? ((columns.file_triggers_enabled ?? current?.file_triggers_enabled) ? 'file-triggers-enabled' : undefined)
    if (rival !== undefined) {
      throw invalid(
        `vcs-repo has a tags-regex, so ${rival} must be ${rival === used ? 'empty' : 'false'}: tags start runs whatever files have changed`,
        '/data/attributes/vcs-repo/tags-regex',
      )
    }
  }
  if (isDisabled && used && (enabled !== undefined || attributes[used])) {
    throw invalid(
      `file-triggers-enabled is false and ${used} is not empty: enable file triggers or empty ${used}`,
      `/data/attributes/${enabled === undefined ? used : 'file-triggers-enabled'}`,
    )
  }
  return columns
}

function tagsRegexAfter({ 'vcs-repo': repository }: Attributes, current: Workspace | undefined) {
  if (repository === null) return null
  return repository?.['tags-regex'] === undefined ? current?.vcs_tags_regex : repository['tags-regex']
}

/** The repository after a body: undefined if it stays, null if it is removed. */
export type RepositoryChange = { connection: ConnectionKey; identifier: string } | null | undefined

/**
 * The change of a workspace's repository. Absent members keep their values. Throws `invalid` for a repository without a connection or an
 * identifier, and for a regular expression that is not one of RE2, whose time is linear.
 */
export function changeRepository({ 'vcs-repo': input }: Attributes, current: Workspace['repository'] | undefined) {
  if (input === undefined) return { repository: undefined, columns: {} }
  if (input === null) {
    const columns = { repository_id: null, vcs_branch: null, vcs_submodules: false, vcs_tags_regex: null }
    return { repository: null, columns }
  }
  const { branch, 'ingress-submodules': submodules, 'tags-regex': tagsRegex } = input
  if (tagsRegex) checkExpression(tagsRegex, (regex) => RE2JS.compile(regex), '/data/attributes/vcs-repo/tags-regex')
  if (branch) checkExpression(branch, (name) => checkRef(`refs/heads/${name}`), '/data/attributes/vcs-repo/branch')
  const columns = {
    ...(branch !== undefined && { vcs_branch: branch || null }),
    ...(submodules !== undefined && { vcs_submodules: submodules ?? false }),
    ...(tagsRegex !== undefined && { vcs_tags_regex: tagsRegex || null }),
  }
  return { repository: repositoryOf(input, current), columns }
}

function repositoryOf(input: NonNullable<Attributes['vcs-repo']>, current: Workspace['repository'] | undefined) {
  const { 'oauth-token-id': tokenId, 'github-app-installation-id': installationId } = input
  const at = (name: string) => `/data/attributes/vcs-repo/${name}`
  if (tokenId && installationId)
    throw invalid('oauth-token-id and github-app-installation-id cannot both be set: omit one', at('oauth-token-id'))
  const identifier = input.identifier ?? current?.identifier
  if (identifier === undefined) throw invalid("identifier can't be blank: it names the repository", at('identifier'))
  const connection = tokenId ? { tokenId } : installationId ? { installationId } : connectionOf(current)
  if (!connection) throw invalid("oauth-token-id can't be blank: it is the token of a connection", at('oauth-token-id'))
  return { connection, identifier }
}

function connectionOf(current: Workspace['repository'] | undefined): ConnectionKey | undefined {
  if (!current) return undefined
  const { token_id: tokenId, installation_id: installationId } = current
  return tokenId === null ? { installationId: installationId ?? '' } : { tokenId }
}

/** Throws `invalid` if an expression of the user does not compile. */
function checkExpression(expression: string, compile: (expression: string) => unknown, pointer: string) {
  try {
    compile(expression)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw invalid(`${/[a-z-]+(?=[/\d]*$)/.exec(pointer)?.[0]} ${expression}: ${error.message}`, pointer)
  }
}

/**
 * A time and a duration replace each other. The time that clients read and send back may be derived from the duration, or the duration
 * inherited: neither is stored.
 */
function autoDestroyColumns(attributes: Attributes, current: Workspace | undefined) {
  const { 'auto-destroy-at': at, 'auto-destroy-activity-duration': duration } = attributes
  const inherits = attributes['inherits-project-auto-destroy']
  const shown = current && effectiveAutoDestroy(current).at
  if (!inherits && at && duration && new Date(at).getTime() !== shown?.getTime()) {
    throw invalid(
      'auto-destroy-at and auto-destroy-activity-duration cannot both be set: omit one of them or set it to null',
      '/data/attributes/auto-destroy-activity-duration',
    )
  }
  return {
    auto_destroy_at: inherits || duration ? null : at,
    auto_destroy_activity_duration: inherits || (at && !duration) ? null : duration,
    inherits_project_auto_destroy: withDefault(inherits, true),
  }
}

function withDefault<T>(value: T | null | undefined, preset: T): T | undefined {
  return value === null ? preset : value
}

type ExecutionSettings = Pick<Workspace, 'execution_mode' | 'agent_pool_id'>
type Defaults = ReturnType<typeof defaultsOf>

/** Effective execution of a workspace's runs: its own settings, else its project's, else its organization's. */
export function effectiveExecution(workspace: ExecutionSettings & Defaults) {
  const mode = workspace.execution_mode ?? workspace.project_execution_mode ?? workspace.organization_execution_mode
  const pool = workspace.agent_pool_id ?? workspace.project_agent_pool_id ?? workspace.organization_agent_pool_id
  return { mode, agentPoolId: mode === 'agent' ? pool : null }
}

export function defaultsOf(project: Project) {
  return {
    project_execution_mode: project.default_execution_mode,
    project_agent_pool_id: project.default_agent_pool_id,
    organization_execution_mode: project.organization_execution_mode,
    organization_agent_pool_id: project.organization_agent_pool_id,
  }
}

/** The execution settings after `input`; null follows the defaults. Throws `invalid` if mode and agent pool contradict each other. */
export function changeExecution(current: ExecutionSettings, defaults: Defaults, input: UpdateWorkspace) {
  const { attributes } = input
  const legacy = attributes.operations === true ? 'remote' : attributes.operations === false ? 'local' : undefined
  const requested = attributes['execution-mode'] ?? legacy
  const overwrites = attributes['setting-overwrites']
  checkOverwrites(overwrites?.['agent-pool'], overwrites?.['execution-mode'])
  const inherits =
    overwrites?.['execution-mode'] === false || (requested === undefined && attributes['execution-mode'] === null)
  const mode = inherits ? null : (requested ?? current.execution_mode)

  const effectiveMode = effectiveExecution({ ...defaults, execution_mode: mode, agent_pool_id: null }).mode
  const { poolId, pointer } = requestedPool(input, 'agent-pool')
  if (poolId && effectiveMode !== 'agent') {
    throw invalid("Agent pool must not be specified unless using 'agent' execution mode", pointer)
  }
  const follows = overwrites?.['agent-pool'] === false || inherits
  const keepsPool = effectiveMode === 'agent' && !follows && poolId === undefined
  const pool = keepsPool ? current.agent_pool_id : (poolId ?? null)
  if (mode === 'agent' && pool === null) {
    throw invalid("Agent pool must be specified when using 'agent' execution mode", pointer)
  }
  return { execution_mode: mode, agent_pool_id: pool }
}

const UNIT_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000 } as const

/** Effective auto-destroy time and idle duration; the workspace's own settings take precedence. */
export function effectiveAutoDestroy(workspace: Workspace) {
  const { auto_destroy_at: ownTime, auto_destroy_activity_duration: ownDuration } = workspace
  const inherits = workspace.inherits_project_auto_destroy && ownTime === null && ownDuration === null
  const duration = inherits ? workspace.project_auto_destroy_activity_duration : ownDuration
  return { inherits, duration, at: ownTime ?? (duration === null ? null : after(workspace.latest_change_at, duration)) }
}

function after(start: Date, duration: string) {
  return new Date(start.getTime() + Number.parseInt(duration, 10) * UNIT_MS[duration.endsWith('d') ? 'd' : 'h'])
}
