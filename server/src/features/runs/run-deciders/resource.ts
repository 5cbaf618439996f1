import type { RunDecidersResource } from '@groundstate/contract/runs'

type Deciders = { runId: string } & Record<'mayApply' | 'mayOverride' | 'mayForceUnlock', readonly string[]>

export function runDecidersResource({ runId, mayApply, mayOverride, mayForceUnlock }: Deciders): RunDecidersResource {
  const teams = (ids: readonly string[]) => ({ data: ids.map((id) => ({ id, type: 'teams' as const })) })
  return {
    id: runId,
    type: 'run-deciders',
    relationships: {
      'may-apply': teams(mayApply),
      'may-override': teams(mayOverride),
      'may-force-unlock': teams(mayForceUnlock),
    },
  }
}
