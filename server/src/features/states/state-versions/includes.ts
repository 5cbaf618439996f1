import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listOutputsOf } from '../state-version-outputs/service.ts'
import { listReadableRuns } from '../../runs/runs/service.ts'
import { includedUsers } from '../../identity/users/service.ts'
import type { PresentedRow } from './store.ts'
import { stateVersionOutputResource } from '../state-version-outputs/resource.ts'
import { runDocuments } from '../../runs/runs/resource.ts'

/** What the reads of state versions may include (INTERFACE §4.5.5). */
export const INCLUDES = ['created_by', 'run', 'run.created_by', 'run.configuration_version', 'outputs'] as const

/**
 * The resources that `includes` names for these versions, each once. The number of queries does not depend on how many
 * versions there are. Sensitive outputs show their values only to who may read the state itself, as everyone here may.
 */
export async function includedWith(ctx: Ctx, versions: readonly PresentedRow[], includes: ReadonlySet<string>) {
  if (includes.size === 0) return undefined
  const found = await Promise.all([
    includes.has('created_by')
      ? includedUsers(
          ctx,
          versions.map((version) => version.created_by_user_id),
        )
      : [],
    includes.has('outputs') ? includedOutputs(ctx, versions) : [],
    includedRuns(ctx, versions, includes),
  ])
  const unique = new Map<string, Resource>()
  for (const resource of found.flat()) unique.set(`${resource.type}/${resource.id}`, resource)
  return [...unique.values()]
}

async function includedOutputs(ctx: Ctx, versions: readonly PresentedRow[]) {
  // Of what is deleted softly the outputs are still there, but no more to be read than the rest of the content.
  const readable = versions.filter((version) => version.status === 'finalized')
  const outputs = await listOutputsOf(
    ctx,
    readable.map((version) => version.id),
  )
  return outputs.map((output) => stateVersionOutputResource(output))
}

/** Of a run's own relations, those that are named with it. */
async function includedRuns(ctx: Ctx, versions: readonly PresentedRow[], includes: ReadonlySet<string>) {
  const nested = [...includes].filter((name) => name.startsWith('run.')).map((name) => name.slice('run.'.length))
  if (nested.length === 0 && !includes.has('run')) return []
  const ids = new Set(versions.flatMap((version) => version.run_id ?? []))
  if (ids.size === 0) return []
  const { resources, included = [] } = await runDocuments(ctx, await listReadableRuns(ctx, [...ids]), new Set(nested))
  return [...resources, ...included]
}
