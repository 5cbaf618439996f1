import type { StateVersionDiffResource } from '@groundstate/contract/state-version-diffs'
import type { StateDiff, StateSummary } from '../../../terraform-state/state-diff.ts'

/** A comparison and the ids of the two versions; `fromId` is null when there is no earlier one. */
export type ComparedVersions = { fromId: string | null; toId: string; diff: StateDiff }

/** Not part of the public API: a document of our own. */
export function stateDiffResource({ fromId, toId, diff }: ComparedVersions): StateVersionDiffResource {
  const { from, to, ...changes } = diff
  return {
    id: `${fromId ?? 'none'}..${toId}`,
    type: 'state-version-diffs',
    attributes: { from: fromId === null ? null : summary(from), to: summary(to), ...changes },
    relationships: {
      from: { data: fromId === null ? null : { id: fromId, type: 'state-versions' } },
      to: { data: { id: toId, type: 'state-versions' } },
    },
  }
}

function summary({ serial, lineage, engineVersion }: StateSummary) {
  return { serial, lineage, 'engine-version': engineVersion }
}
