import type { Ctx } from '../../../app.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { RawJson } from '../../../http/raw-json.ts'
import type { Surroundings } from './create.ts'
import { type Shown, stateVersionResource } from './resource.ts'
import { resourceLists } from './resource-list-cache.ts'
import type { PresentedRow } from './store.ts'

export async function stateVersionResources<Version extends PresentedRow>(
  ctx: Ctx,
  versions: readonly Version[],
  shownOf: (version: Version) => Shown,
) {
  const lists = await resourceLists(ctx, versions)
  // A version that was deleted since its row was read has no list any more.
  return versions.map((version) =>
    stateVersionResource(ctx, version, lists.get(version.id) ?? NO_LIST, shownOf(version)),
  )
}

/** What the versions of a workspace show the caller, by whatever door they are read. */
export function shownIn(surroundings: Surroundings): Shown {
  return {
    seesBilling: seesBilling(surroundings),
    mayUpload: workspacePermissions(surroundings.facts).has('state-versions:write'),
    commit: surroundings.vcs_repo === null ? undefined : { sha: null, url: null },
  }
}

const NO_LIST = new RawJson(Buffer.from('[]'))

/** Usage is metered on the standard plan, and shown to members who see all workspaces of the organization (INTERFACE §4.1.1). */
function seesBilling({ plan, facts }: Surroundings) {
  if (plan !== 'standard') return false
  return (
    facts.role === 'owner' ||
    (facts.role === 'member' && (facts.access.has('manage_workspaces') || facts.access.has('read_workspaces')))
  )
}
