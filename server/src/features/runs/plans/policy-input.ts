import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { jobHandler } from '../../../handlers.ts'
import {
  failEvaluation,
  prepareEvaluationJob,
  queueEvaluation,
  type StartedEvaluation,
} from '../../policies/policy-evaluations/service.ts'
import { findStarted } from '../../policies/policy-evaluations/store.ts'
import { evaluatedSets } from '../../policies/policy-evaluations/work.ts'
import { listEffectivePolicySets } from '../../policies/policy-sets/service.ts'
import { readRunVariables } from '../../workspaces/variable-sets/effective-variables.ts'
import { listEffectiveTagBindings } from '../../workspaces/workspace-tags/store.ts'
import { artifactKey, ifStored } from './artifact.ts'
import { findPolicyFacts } from './policy-input-store.ts'

/** OPA's input about a run: the blob of its plan's JSON, and the data of the run (public documentation, "OPA input"). */
export type PolicyInput = { planKey: string; run: Record<string, unknown> }

/** Returns the input, or the reason why there is none. The caller has authorised the run. */
export async function policyInput(ctx: Ctx, runId: string): Promise<PolicyInput | { problem: string }> {
  const facts = await findPolicyFacts(ctx.db, runId)
  if (!facts) return { problem: `the run ${runId} was deleted` }
  if (facts.json_deleted_at !== null || facts.job_id === null)
    return { problem: `the JSON of the plan of ${runId} is no longer kept` }
  const planKey = artifactKey(facts.id, facts.job_id, 'plan-json')
  const plan = await ifStored(ctx.blobs.open(planKey))
  if (!plan) return { problem: `the plan of ${runId} has no JSON for policies to evaluate` }
  plan.destroy()
  const scope = { workspaceId: facts.workspace_id, organizationId: facts.organization_id }
  const variables = await (await readRunVariables(ctx, scope))(facts.variables as { key: string; value: string }[])
  const bindings = await listEffectiveTagBindings(ctx.db, [facts.workspace_id])
  return { planKey, run: runData(facts, { variables, bindings }) }
}

type Facts = NonNullable<Awaited<ReturnType<typeof findPolicyFacts>>>
type RunContext = {
  variables: readonly { key: string; category: 'terraform' | 'env'; sensitive: boolean }[]
  bindings: readonly { key: string; value: string }[]
}

/** Names and kinds of variables, not their values. */
function runData(facts: Facts, { variables, bindings }: RunContext) {
  return {
    id: facts.id,
    created_at: facts.created_at.toISOString(),
    created_by: facts.username,
    message: facts.message,
    commit_sha: facts.commit_sha,
    is_destroy: facts.is_destroy,
    refresh: facts.refresh,
    refresh_only: facts.refresh_only,
    replace_addrs: facts.replace_addrs,
    speculative: facts.plan_only,
    target_addrs: facts.target_addrs,
    project: { id: facts.project_id, name: facts.project_name },
    variables: Object.fromEntries(
      variables.map(({ key, category, sensitive }) => [
        key,
        { category: category === 'env' ? 'environment' : 'input', sensitive },
      ]),
    ),
    organization: { name: facts.organization_name },
    workspace: {
      id: facts.workspace_id,
      name: facts.workspace_name,
      created_at: facts.workspace_created_at.toISOString(),
      description: facts.description,
      execution_mode: facts.execution_mode,
      auto_apply: facts.auto_apply,
      tags: facts.tag_names,
      tag_bindings: bindings.map(({ key, value }) => ({ key, value })),
      working_directory: facts.working_directory === '' ? null : facts.working_directory,
      vcs_repo: facts.identifier === null ? null : repositoryData(facts),
    },
  }
}

function repositoryData(facts: Facts) {
  return {
    identifier: facts.identifier,
    display_identifier: facts.display_identifier,
    branch: facts.vcs_branch,
    ingress_submodules: facts.vcs_submodules,
  }
}

/** Queues the policies that apply to the run of an evaluation when its stage has started. */
async function prepareEvaluation(ctx: Ctx, id: string) {
  const evaluation = await findStarted(ctx.db, id)
  if (!evaluation) return
  const facts = await policyInput(ctx, evaluation.run_id)
  const { opa, sets } = await evaluatedSets(ctx, await effectiveSets(ctx, evaluation))
  if ('problem' in facts) return failEvaluation(ctx, evaluation, { sets }, facts.problem)
  await queueEvaluation(ctx, evaluation, { organizationId: evaluation.organization_id, opa, sets, ...facts })
}

async function effectiveSets(ctx: Ctx, { workspace_id: id, organization_id, project_id }: StartedEvaluation) {
  return listEffectivePolicySets(ctx, { id, organization_id, project_id })
}

export const policyInputJobs = [
  jobHandler(prepareEvaluationJob, async (ctx, { id }) => prepareEvaluation({ ...ctx, actor: SYSTEM }, id)),
]
