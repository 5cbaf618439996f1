import { policiesDirectory } from '@groundstate/contract/policy-sets'
import type { CreatePolicyTrial, PolicyTrialRunStatus } from '@groundstate/contract/policy-trials'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { type Page, isForeignKeyViolation, isUniqueViolation, pageOffset, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { requireOrganization, requireOrganizationById } from '../../organizations/organizations/access.ts'
import { checkToolVersion } from '../../policies/opa-versions/service.ts'
import { evaluatedSets } from '../../policies/policy-evaluations/work.ts'
import { deleteTrialRequests } from '../../policies/policy-requests/store.ts'
import { requirePolicySet } from '../../policies/policy-sets/access.ts'
import { requireTrial, requireTrialToCancel, trialAudit } from './access.ts'
import { advanceTrialJob } from './evaluate.ts'
import * as resultStore from './result-store.ts'
import { sealRules } from './rules.ts'
import { type Selection, selectNamedRuns, selectRecentRuns } from './selection.ts'
import * as store from './store.ts'

const SET = '/data/relationships/policy-set'

/** Creates a trial that awaits the archive of its policies. */
export async function createTrial(ctx: Ctx, organizationName: string, input: CreatePolicyTrial) {
  const { attributes, relationships } = input
  const organization = await requireOrganization(ctx, organizationName, 'policies:manage')
  const setId = relationships['policy-set']?.data.id
  const set = setId === undefined ? undefined : await requirePolicySet(ctx, setId, 'policies:manage')
  if (set && set.organization_id !== organization.id) throw notFound('policy set', { pointer: SET })
  if (!set && !relationships.runs)
    throw invalid('runs are missing: name the runs, or the policy set whose last 30 days are evaluated', SET)
  const toolVersion = attributes['policy-tool-version'] || undefined
  if (toolVersion !== undefined) await checkToolVersion(ctx, toolVersion)
  const selection = relationships.runs
    ? await selectNamedRuns(
        ctx,
        organization,
        relationships.runs.data.map(({ id }) => id),
      )
    : await selectRecentRuns(ctx, organization, set?.id ?? '')
  const columns = {
    id: ctx.newId('poltrial'),
    organization_id: organization.id,
    policy_set_id: set?.id ?? null,
    source: 'upload' as const,
    status: 'pending' as const,
    policies_path: policiesDirectory(attributes['policies-path'] ?? set?.policies_path ?? ''),
    policy_tool_version: toolVersion ?? set?.policy_tool_version ?? 'latest',
  }
  await transact(ctx, async (ctx) => insertTrial(ctx, columns, selection))
  return requireTrial(ctx, columns.id)
}

/** Evaluates the policies that a set has now against the runs of the last 30 days. Throws `conflict` while an earlier such trial runs. */
export async function createSetTrial(ctx: Ctx, setId: string) {
  const set = await requirePolicySet(ctx, setId, 'policies:manage')
  const organization = await requireOrganizationById(ctx, set.organization_id, 'policies:manage')
  const {
    opa,
    sets: [evaluated],
  } = await evaluatedSets(ctx, [set])
  if (!evaluated) throw invalid(`the set ${set.name} has no policies yet: upload a version, or attach policies`)
  const selection = await selectRecentRuns(ctx, organization, setId)
  const id = ctx.newId('poltrial')
  const columns = {
    id,
    organization_id: organization.id,
    policy_set_id: setId,
    source: 'policy-set' as const,
    status: 'running' as const,
    policies_path: evaluated.policiesPath,
    policy_tool_version: set.policy_tool_version,
    rules: sealRules(ctx, id, { opa, set: evaluated }),
  }
  try {
    await transact(ctx, async (ctx) => {
      await insertTrial(ctx, columns, selection)
      await ctx.jobs.enqueue(ctx.db, advanceTrialJob, { id })
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'policy_trials_running_key')) throw error
    throw conflict(`a trial of the set ${set.name} is running: wait until it has finished, or cancel it`)
  }
  return requireTrial(ctx, id)
}

type Columns = Omit<Parameters<typeof store.insertTrial>[1], 'created_at' | 'updated_at'> & {
  id: string
  policy_set_id: string | null
}

async function insertTrial(ctx: TransactionCtx, columns: Columns, { runIds, unreadable, planless, older }: Selection) {
  const now = ctx.now()
  const trial = {
    ...columns,
    unreadable_runs: unreadable,
    planless_runs: planless,
    older_runs: older,
    created_by_user_id: actorUserId(ctx.actor),
    created_at: now,
    updated_at: now,
  }
  const runs = runIds.map((runId, position) => ({
    id: ctx.newId('poltrialrun'),
    policy_trial_id: columns.id,
    position,
    run_id: runId,
  }))
  try {
    await store.insertTrial(ctx.db, trial)
    await store.insertTrialRuns(ctx.db, runs)
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict('the policy set or a run was deleted at the same time: create the trial again')
  }
  await recordAudit(ctx, trialAudit(columns, 'create', { runs: runIds.length }))
}

/** A page of the trials of a set, the latest first. */
export async function listTrials(ctx: Ctx, setId: string, page: Page) {
  const set = await requirePolicySet(ctx, setId, 'policies:read')
  if (!set.can.has('policies:manage')) throw notFound('policy trials')
  return store.listTrials(ctx.db, set.id, page)
}

type ListResults = { page: Page; statuses: readonly PolicyTrialRunStatus[] | undefined }

/** A page of the results of a trial, of the runs whose plan the actor may read. */
export async function listTrialRuns(ctx: Ctx, id: string, { page, statuses }: ListResults) {
  const trial = await requireTrial(ctx, id)
  const keys = await resultStore.listResultKeys(ctx.db, ctx.actor, { trialId: trial.id, statuses })
  const readable = keys.filter((row) => readAccess(ctx.actor, row).can.has('plan-json:read'))
  const offset = pageOffset(page)
  const ids = readable.slice(offset, offset + page.size).map((row) => row.id)
  return { rows: await resultStore.listResults(ctx.db, ids), total: readable.length }
}

/** Cancels a trial; agents drop its requests. Its results stay. Throws `conflict` for one that has ended. */
export async function cancelTrial(ctx: Ctx, id: string) {
  const trial = await requireTrialToCancel(ctx, id)
  await transact(ctx, async (ctx) => {
    const change = { from: ['pending', 'running'], to: 'canceled', now: ctx.now() } as const
    if (!(await store.updateStatus(ctx.db, id, change)))
      throw conflict(`the trial ${id} has ended: only one that is pending or running can be canceled`)
    await deleteTrialRequests(ctx.db, id)
    await recordAudit(ctx, trialAudit(trial, 'cancel'))
  })
  return requireTrial(ctx, id)
}
