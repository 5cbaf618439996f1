import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { announce, announceFound, runNotice } from '../../../changes/announce.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { domainEvent } from '../../../events.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import type { Run } from './access.ts'
import type { RunRow } from './locked-run-store.ts'
import { selectPlaces } from './transition-store.ts'

/** `favoured` is the run that replaces this one. */
export function runAudit(run: AuditedRun, action: string): AuditEvent {
  return {
    organizationId: run.organization_id,
    action,
    resource: { type: 'run', id: run.id },
    meta: { workspace: run.workspace_id, favoured: run.favoured },
    notices: [{ type: 'runs', id: run.id, workspace: run.workspace_id }],
  }
}

export function runCreationAudit(run: RunRow): AuditEvent {
  const { id, workspace_id: workspace, configuration_version_id: configuration_version } = run
  const { source, is_destroy, plan_only, auto_apply } = run
  return {
    organizationId: run.organization_id,
    action: 'create',
    resource: { type: 'run', id },
    meta: { workspace, configuration_version, source, is_destroy, plan_only, auto_apply },
    notices: [
      { type: 'runs', id, workspace },
      { type: 'workspaces', id: workspace, workspace },
    ],
  }
}

type AuditedRun = Pick<Run, 'id' | 'organization_id' | 'workspace_id'> & { favoured?: string }

/** Notifies open pages of runs of which the caller knows the ids only. */
export async function announceRuns(ctx: Ctx, ids: readonly string[]) {
  const read = await readWithNext(ctx.db, [selectPlaces(ctx.db, ids)])
  announceFound(ctx, async () => (await read())[0].map(runNotice))
}

/** Notifies open pages that an agent has begun or ended a job of the run. The built-in agents are on no page. */
export function announceAgentOf(ctx: Ctx, run: Pick<RunRow, 'organization_id' | 'agent_pool_id'>, agentId: string) {
  const { organization_id: organization, agent_pool_id: pool } = run
  if (pool !== BUILT_IN_POOL_ID) announce(ctx, { organization, type: 'agents', id: agentId, pool })
}

/** An apply has succeeded; raised in the transaction that records it. */
export const runApplied = domainEvent<RunRow>('run.applied')
