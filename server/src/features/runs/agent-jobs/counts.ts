import type { FinishJob } from '@groundstate/contract/agent'

/** The columns of a phase with what an agent has counted. */
export function countColumns({ counts }: Pick<FinishJob, 'counts'>) {
  if (!counts) return {}
  return {
    resource_additions: counts.additions,
    resource_changes: counts.changes,
    resource_destructions: counts.destructions,
    resource_imports: counts.imports,
  }
}
