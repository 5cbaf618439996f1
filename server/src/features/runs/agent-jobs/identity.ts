import type { Credential, IdentityToken } from '@groundstate/contract/workload-identity'
import { readCredentials } from '@groundstate/contract/workload-identity'
import type { TransactionCtx } from '../../../app.ts'
import type { LockedJob, LockedRun } from '../runs/locked-run-store.ts'
import { mintTokens } from '../workload-identity/token.ts'
import type { QueuedJob } from './claim-store.ts'

type JobVariable = { key: string; value: string; category: 'terraform' | 'env' }
type Parts = {
  queued: QueuedJob
  locked: LockedRun & { job: LockedJob }
  variables: readonly JobVariable[]
}

/**
 * Tokens for the credentials that the variables configure, one for each audience. A run that withholds secrets gets none, and `withheld` names the
 * services, or the variables with the audiences of others. The agent reports malformed variables. Throws `UnreadableKeyError`.
 */
export async function identityOf(
  ctx: TransactionCtx,
  { queued, locked: { run, job }, variables }: Parts,
): Promise<{ identityTokens: IdentityToken[]; withheld: string[] }> {
  const environment = variables.flatMap(({ key, value, category }) =>
    category === 'env' ? [[key, value] as const] : [],
  )
  const { credentials } = readCredentials(new Map(environment), job.kind)
  if (run.withholds_secrets) return { identityTokens: [], withheld: [...new Set(credentials.map(nameOf))] }
  const workload = {
    organization: { id: queued.organization_id, name: queued.organization_name },
    project: { id: queued.project_id, name: queued.project_name },
    workspace: { id: queued.id, name: queued.workspace_name },
    runId: run.id,
    phase: job.kind,
  }
  const audiences = credentials.map(({ audience }) => audience)
  return { identityTokens: await mintTokens(ctx, workload, audiences), withheld: [] }
}

function nameOf({ provider, tag }: Credential) {
  return provider === 'token' ? `TFC_WORKLOAD_IDENTITY_AUDIENCE${tag === undefined ? '' : `_${tag}`}` : provider
}
