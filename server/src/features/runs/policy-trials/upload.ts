import type { Readable } from 'node:stream'
import { ArchiveError } from '@groundstate/contract/archive'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { putArchive } from '../../../blobs/archive.ts'
import { announce } from '../../../changes/announce.ts'
import { isDefinitelyRejected, transact } from '../../../db/db.ts'
import { conflict, invalid } from '../../../errors.ts'
import { toolOf } from '../../policies/policy-evaluations/work.ts'
import type { WorkSet } from '../../policies/policy-requests/policy-request.ts'
import { parametersOf } from '../../policies/policy-set-parameters/service.ts'
import { PolicyError, readPolicies } from '../../policies/policy-set-versions/definitions.ts'
import { requireUpload, trialAudit } from './access.ts'
import { advanceTrialJob } from './evaluate.ts'
import { sealRules } from './rules.ts'
import * as store from './store.ts'
import { TRIAL_PREFIX } from './urls.ts'

/** Starts a trial with the archive of its policies. An invalid one makes it errored; an interrupted upload changes nothing. */
export async function uploadTrial(anyone: Ctx, token: string, archive: Readable) {
  const { ctx, trial } = await requireUpload(anyone, token)
  if (trial.status !== 'pending')
    throw conflict(`the trial ${trial.id} is ${trial.status}: an archive can be uploaded while it is pending`)
  // Each attempt has its own key: an earlier attempt may have crashed and left a blob.
  const key = `${TRIAL_PREFIX}${trial.id}/${ctx.newId('upload')}`
  try {
    await putArchive(ctx.blobs, key, archive)
    await start(ctx, trial, key)
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof PolicyError) {
      await ctx.blobs.delete(key)
      await fail(ctx, trial, error.message)
      throw invalid(error.message)
    }
    if (isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    throw error
  }
}

async function start(ctx: Ctx, trial: store.TrialRow, key: string) {
  const { id } = trial
  const { policies, digest } = await readPolicies(ctx, await ctx.blobs.open(key), trial.policies_path)
  const set: WorkSet = {
    id,
    name: trial.policy_set_name ?? 'of the archive',
    description: '',
    overridable: false,
    versionId: null,
    digest,
    archiveKey: key,
    commit: null,
    policiesPath: trial.policies_path,
    ...(await parametersOf(ctx, trial.policy_set_id)),
    policies: policies.map(({ enforcement_level: level, ...policy }) => ({ ...policy, level })),
  }
  const rules = sealRules(ctx, id, { opa: await toolOf(ctx, [trial]), set })
  await transact(ctx, async (ctx) => {
    const changes = { rules, blob_key: key }
    const change = { from: ['pending'], to: 'running', now: ctx.now(), changes } as const
    if (!(await store.updateStatus(ctx.db, id, change)))
      throw conflict(`the trial ${id} was canceled, or another archive was uploaded at the same time`)
    await ctx.jobs.enqueue(ctx.db, advanceTrialJob, { id })
    await recordAudit(ctx, trialAudit(trial, 'upload', { digest }))
  })
}

async function fail(ctx: Ctx, { id, organization_id: organization }: store.TrialRow, message: string) {
  await transact(ctx, async (ctx) => {
    const change = { from: ['pending'], to: 'errored', now: ctx.now(), changes: { error_message: message } } as const
    if (await store.updateStatus(ctx.db, id, change)) announce(ctx, { organization, type: 'policy-trials', id })
  })
}
