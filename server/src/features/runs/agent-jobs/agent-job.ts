import { type AgentJob, agentJob } from '@groundstate/contract/agent'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { type EngineNames, engineNames } from '../../../auth/actor.ts'
import type { LockedJob, LockedRun, RunRow } from '../runs/locked-run-store.ts'
import type { QueuedJob } from './claim-store.ts'
import type { Product } from './engine-choice.ts'
import { appliesByItself, leaseLength } from './store.ts'

type Parts = {
  queued: QueuedJob
  locked: Omit<LockedRun, 'job'> & { job: LockedJob }
  product: Product
  token: string
  engineToken: string
  variables: z.input<typeof agentJob>['variables']
}

/** A job as the agent receives it. */
export function agentJobDocument(
  { baseUrl, config }: Pick<Ctx, 'baseUrl' | 'config'>,
  { queued, locked, product, token, engineToken, variables }: Parts,
): AgentJob {
  const { run, job, plan } = locked
  const names = jobNames(locked, queued)
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
    ...stateProviders(locked.workspace, queued),
    workingDirectory: normalizedDirectory(run.working_directory),
    engine: {
      product,
      version: run.engine_version,
      required: run.engine_version_required,
    },
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
    timeLimitMs: timeLimit(config, job.kind),
    graceMs: config.cancelGrace,
    takesResults: true,
    documentsMayFollow: job.kind === 'plan' && appliesByItself(run),
  } satisfies z.input<typeof agentJob>)
}

/** Names by which the engine addresses the workspace: current names for a plan; an apply keeps those of its plan. */
function jobNames(
  { run, job }: { run: RunRow; job: LockedJob },
  { organization_name, workspace_name }: Pick<QueuedJob, 'organization_name' | 'workspace_name'>,
): EngineNames {
  const ofPlan = job.kind === 'apply' ? engineNames(run) : undefined
  return ofPlan ?? { organization: organization_name, workspace: workspace_name }
}

/** How long a phase may take, in ms. */
export function timeLimit(config: Ctx['config'], kind: 'plan' | 'apply') {
  return kind === 'plan' ? config.planTimeout : config.applyTimeout
}

const COMMAND_LINE: ReadonlySet<RunRow['source']> = new Set(['terraform', 'terraform+cloud'])

/** The command line prints an https address, made of the name that a CLI configuration gives a server of plain http. */
function pageUrl(
  baseUrl: string,
  { organization_name, workspace_name }: QueuedJob,
  run: Pick<RunRow, 'id' | 'source'>,
) {
  if (!COMMAND_LINE.has(run.source) || !baseUrl.startsWith('http:')) return {}
  return { pageUrl: `${baseUrl}/app/${organization_name}/${workspace_name}/runs/${run.id}` }
}

/** A workspace without a state has none; those of a state that was not read, or can't be, are not known. */
function stateProviders(
  { current_state_version_id }: Pick<LockedRun['workspace'], 'current_state_version_id'>,
  { state_providers }: Pick<QueuedJob, 'state_providers'>,
) {
  if (current_state_version_id === null) return { stateProviders: [] }
  return state_providers === null ? {} : { stateProviders: state_providers }
}

/** The server's own name, the default of `groundstate cli-config`, and the name that the engines' documentation uses. */
function hostNames(baseUrl: string) {
  return [new URL(baseUrl).host, 'groundstate.local', 'localterraform.com']
}
