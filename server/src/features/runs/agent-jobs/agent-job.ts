import { type AgentJob, agentJob } from '@groundstate/contract/agent'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { engineNames } from '../../../auth/actor.ts'
import type { LockedJob, LockedRun, RunRow } from '../runs/locked-run-store.ts'
import { timeLimit } from '../workload-identity/token.ts'
import type { QueuedJob } from './claim-store.ts'
import type { Product } from './engine-choice.ts'
import { appliesImmediately, leaseLength } from './store.ts'

type Parts = {
  queued: QueuedJob
  locked: Omit<LockedRun, 'job'> & { job: LockedJob }
  product: Product
  token: string
  engineToken: string
  variables: z.input<typeof agentJob>['variables']
  identityTokens: AgentJob['identityTokens']
  sshKey: string | undefined
}

export function agentJobDocument({ baseUrl, config }: Pick<Ctx, 'baseUrl' | 'config'>, parts: Parts): AgentJob {
  const { queued, locked, product, token, engineToken, variables, identityTokens, sshKey } = parts
  const { run, job, plan } = locked
  // The engine addresses the workspace by its current names in a plan, and by those of the plan in an apply.
  const current = { organization: queued.organization_name, workspace: queued.workspace_name }
  const names = (job.kind === 'apply' ? engineNames(run) : undefined) ?? current
  return agentJob.parse({
    id: queued.job_id,
    kind: job.kind,
    ...(job.kind === 'apply' && plan.job_id !== null && { planJobId: plan.job_id }),
    token,
    engineToken,
    leaseMs: leaseLength(config, job.kind),
    runId: run.id,
    ...pageUrl(baseUrl, queued, run),
    organizationId: locked.workspace.organization_id,
    organizationName: names.organization,
    hostNames: hostNames(baseUrl),
    projectName: queued.project_name,
    workspaceId: run.workspace_id,
    workspaceName: names.workspace,
    configurationVersionId: run.configuration_version_id,
    stateBytes: queued.state_bytes ?? 0,
    ...stateProviders(queued),
    workingDirectory: normalizedDirectory(run.working_directory),
    engine: { product, version: run.engine_version, required: run.engine_version_required },
    structuredOutput: run.structured_output,
    options: {
      isDestroy: run.is_destroy,
      refresh: run.refresh,
      refreshOnly: run.refresh_only,
      targetAddrs: run.target_addrs,
      replaceAddrs: run.replace_addrs,
      allowConfigGeneration: run.allow_config_generation,
      debug: run.debugging_mode,
    },
    variables,
    withholdsSecrets: run.withholds_secrets,
    identityTokens,
    ...(sshKey !== undefined && { sshKey }),
    timeLimitMs: timeLimit(config, job.kind),
    graceMs: config.cancelGrace,
    takesResults: true,
    mayApply: !run.plan_only,
    traceparent: run.traceparent ?? undefined,
    documentsMayFollow: job.kind === 'plan' && appliesImmediately(run),
  } satisfies z.input<typeof agentJob>)
}

const CLI_SOURCES: ReadonlySet<RunRow['source']> = new Set(['terraform', 'terraform+cloud'])

/** The CLI prints an https address with the host name of its configuration, which is wrong for a server with plain http. */
function pageUrl(baseUrl: string, { organization_name, workspace_name }: QueuedJob, run: RunRow) {
  if (!CLI_SOURCES.has(run.source) || !baseUrl.startsWith('http:')) return {}
  return { pageUrl: `${baseUrl}/app/${organization_name}/${workspace_name}/runs/${run.id}` }
}

/** None without a state; unknown for a state that was not parsed. */
function stateProviders({ current_state_version_id, state_providers }: QueuedJob) {
  if (current_state_version_id === null) return { stateProviders: [] }
  return state_providers === null ? {} : { stateProviders: state_providers }
}

/** The names of this server in configurations: its host, the default of `groundstate cli-config`, and the name in the documentation of the engines. */
export function hostNames(baseUrl: string) {
  return [new URL(baseUrl).host, 'groundstate.local', 'localterraform.com']
}
