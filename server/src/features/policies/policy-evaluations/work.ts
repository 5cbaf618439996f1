import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { findToolVersion, newestFirst } from '../opa-versions/service.ts'
import type { PolicyWork, WorkSet } from '../policy-requests/policy-request.ts'
import { type OpenParameter, evaluationParameters, openParameters } from '../policy-set-parameters/service.ts'
import { requireEvaluationBundle } from '../policy-set-versions/bundle.ts'
import type { EffectivePolicySet } from '../policy-sets/scope-store.ts'

type EvaluatedSet = Pick<EffectivePolicySet, 'id' | 'name' | 'description' | 'overridable' | 'policy_tool_version'>

/**
 * The rules of policy sets as they are now, for a request to an agent. Sets that have just lost their policies are left out. One OPA evaluates
 * all sets of a run: the newest version that they ask for.
 */
export async function evaluatedSets(
  ctx: Ctx,
  sets: readonly EvaluatedSet[],
): Promise<Pick<PolicyWork, 'opa' | 'sets'>> {
  const parameters = await openParameters(
    ctx,
    sets.map(({ id }) => id),
  )
  const work = await Promise.all(sets.map(async (set) => evaluatedSet(ctx, set, parameters.get(set.id) ?? [])))
  return { opa: await toolOf(ctx, sets), sets: work.filter((set) => set !== undefined) }
}

async function evaluatedSet(
  ctx: Ctx,
  { id, name, description, overridable }: EvaluatedSet,
  parameters: readonly OpenParameter[],
): Promise<WorkSet | undefined> {
  const bundle = await requireEvaluationBundle(ctx, id).catch((error: unknown) => {
    if (error instanceof AppError && error.kind === 'not-found') return undefined
    throw error
  })
  if (!bundle) return undefined
  return {
    id,
    name,
    description,
    overridable,
    versionId: bundle.versionId,
    digest: bundle.digest,
    commit: bundle.commit,
    policiesPath: bundle.policiesPath,
    ...evaluationParameters(parameters),
    policies: bundle.policies.map(({ enforcement_level: level, ...policy }) => ({ ...policy, level })),
  }
}

/** The version of OPA that evaluates sets, and its binaries. */
export async function toolOf(
  ctx: Pick<Ctx, 'db'>,
  sets: readonly Pick<EvaluatedSet, 'policy_tool_version'>[],
): Promise<PolicyWork['opa']> {
  const wanted = [...new Set(sets.map((set) => set.policy_tool_version))]
  const versions = await Promise.all(wanted.map(async (version) => findToolVersion(ctx, version)))
  const [newest] = versions.flatMap((row) => row ?? []).toSorted((a, b) => newestFirst(a.version, b.version))
  return { version: newest?.version ?? wanted[0] ?? 'latest', archs: newest?.archs ?? [] }
}
