import type { RunStatus } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { announce, announceFound, runNotice } from '../../../changes/announce.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { domainEvent } from '../../../events.ts'
import { BUILT_IN_POOL_ID } from '../../agents/agent-pools/store.ts'
import type { RunRow } from './locked-run-store.ts'
import { selectPlaces } from './transition-store.ts'

type AuditedRun = Pick<RunRow, 'id' | 'organization_id' | 'workspace_id'>

/** `favoured` is the run that replaces this one. */
export function runAudit(run: AuditedRun & { favoured?: string }, action: string): AuditEvent {
  return {
    organizationId: run.organization_id,
    action,
    resource: { type: 'run', id: run.id },
    meta: { workspace: run.workspace_id, favoured: run.favoured },
    notices: [{ type: 'runs', id: run.id, workspace: run.workspace_id }],
  }
}

export function runCreationAudit(run: RunRow): AuditEvent {
  const { workspace_id: workspace, configuration_version_id: configuration_version } = run
  const { source, is_destroy, plan_only, auto_apply } = run
  const event = runAudit(run, 'create')
  return {
    ...event,
    meta: { workspace, configuration_version, source, is_destroy, plan_only, auto_apply },
    notices: [...event.notices, { type: 'workspaces', id: workspace, workspace }],
  }
}

/** Announces changes of runs of which only the ids are known. */
export async function announceRuns(ctx: Ctx, ids: readonly string[]) {
  const read = await readWithNext(ctx.db, [selectPlaces(ctx.db, ids)])
  announceFound(ctx, async () => (await read())[0].map(runNotice))
}

/** Announces that an agent has started or ended a job of the run. Built-in agents are on no page. */
export function announceAgentOf(ctx: Ctx, run: Pick<RunRow, 'organization_id' | 'agent_pool_id'>, agentId: string) {
  const { organization_id: organization, agent_pool_id: pool } = run
  if (pool !== BUILT_IN_POOL_ID) announce(ctx, { organization, type: 'agents', id: agentId, pool })
}

/** A run of a commit has changed; `hasPlanned` if its plan has just finished. Raised in the transaction. */
export const commitRunChanged = domainEvent<{ run: RunRow; hasPlanned: boolean }>('run.commit-changed')

/** A successful apply; raised in its transaction. */
export const runApplied = domainEvent<RunRow>('run.applied')

/** A run was created; raised in its transaction, before its first statuses. */
export const runCreated = domainEvent<RunRow>('run.created')

/** A run has passed through the statuses of `path`, and waits in the last one or has ended. Raised in the transaction, with the run as it was, if somebody may be notified of it. */
export const runAdvanced = domainEvent<{ run: RunRow; path: readonly RunStatus[] }>('run.advanced')
