import type { UpdateWorkspace } from '@groundstate/contract/workspaces'
import type { Updateable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'
import { invalid } from '../../../errors.ts'

type Attributes = UpdateWorkspace['attributes']

/**
 * The columns that a body's plain settings change. An absent setting stays; null resets it to its default.
 * `clientEngine` is the version of the command line that sends the body. A command line writes its own version into
 * each workspace that it creates, so that version was not chosen by the user.
 */
export function workspaceSettingColumns(
  attributes: Attributes,
  clientEngine: string | undefined,
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
    trigger_only_on_output_change: withDefault(attributes['trigger-only-on-output-change'], false),
    allow_destroy_plan: withDefault(attributes['allow-destroy-plan'], true),
    assessments_enabled: withDefault(attributes['assessments-enabled'], false),
    file_triggers_enabled: withDefault(attributes['file-triggers-enabled'], true),
    ...triggerColumns(attributes),
    queue_all_runs: withDefault(attributes['queue-all-runs'], false),
    speculative_enabled: withDefault(attributes['speculative-enabled'], true),
    structured_run_output_enabled: withDefault(attributes['structured-run-output-enabled'], true),
    global_remote_state: withDefault(attributes['global-remote-state'], false),
    project_remote_state: withDefault(attributes['project-remote-state'], false),
    ...autoDestroyColumns(attributes),
    migration_environment: attributes['migration-environment'],
    source_name: attributes['source-name'],
    source_url: attributes['source-url'],
  }
}

/** A workspace has prefixes or patterns: a list of one of them, even an empty one, replaces the other. */
function triggerColumns({ 'trigger-prefixes': prefixes, 'trigger-patterns': patterns }: Attributes) {
  if (prefixes?.length && patterns?.length) {
    throw invalid(
      'trigger-prefixes and trigger-patterns can not be set both: one of them must be left out or empty',
      '/data/attributes/trigger-patterns',
    )
  }
  return {
    trigger_prefixes: prefixes === undefined && patterns ? [] : withDefault(prefixes, []),
    trigger_patterns: patterns === undefined && prefixes ? [] : withDefault(patterns, []),
  }
}

/** Who inherits has nothing of its own, even where a client sends back the inherited values that it has read. */
function autoDestroyColumns(attributes: Attributes) {
  const inherits = attributes['inherits-project-auto-destroy']
  return {
    auto_destroy_at: inherits ? null : attributes['auto-destroy-at'],
    auto_destroy_activity_duration: inherits ? null : attributes['auto-destroy-activity-duration'],
    inherits_project_auto_destroy: withDefault(inherits, true),
  }
}

function withDefault<T>(value: T | null | undefined, preset: T): T | undefined {
  return value === null ? preset : value
}
