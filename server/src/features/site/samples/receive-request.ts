import { timingSafeEqual } from 'node:crypto'
import { stage } from '@groundstate/contract/run-tasks'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { badRequest, unauthorized } from '../../../errors.ts'
import { TEST_TOKEN, taskSignature } from '../../tasks/run-tasks/request.ts'
import { sampleReceiver } from './receiver.ts'
import { reviewContext, reviewJob } from './review-job.ts'
import * as store from './store.ts'

/** What the receiver reads of a request; a receiver ignores what it does not know. */
const request = z.object({
  payload_version: z.literal(1),
  stage,
  access_token: z.string(),
  organization_name: z.string(),
  run_app_url: z.string(),
  task_result_id: z.string(),
  task_result_callback_url: z.string(),
  plan_json_api_url: z.string().optional(),
})

/**
 * Takes the request of a sample's task, as any receiver does: it checks the signature over the very bytes, and calls back later. Throws
 * `unauthorized` unless the task of a sample has signed it.
 */
export async function receiveSampleRequest(ctx: Ctx, { body, signature }: { body: Buffer; signature: string }) {
  const parsed = request.safeParse(parseJson(body))
  const sample = parsed.success ? await store.findSampleOf(ctx.db, parsed.data.organization_name) : undefined
  if (!parsed.success || !sample || !isSigned({ body, signature }, sampleReceiver(ctx, sample.id).hmacKey)) {
    throw unauthorized('only the run task of a sample is answered here: the request is not signed with its key')
  }
  const { access_token: token, task_result_id: resultId, ...payload } = parsed.data
  if (token === TEST_TOKEN) return
  const callback = ctx.ownServer.pathOf(payload.task_result_callback_url)
  if (callback === undefined) {
    throw badRequest(`the callback URL is ${payload.task_result_callback_url}, and must be on ${ctx.baseUrl}`)
  }
  await ctx.jobs.enqueue(ctx.db, reviewJob, {
    resultId,
    token: ctx.secrets.seal(token, reviewContext(resultId)).toString('base64'),
    callback,
    plan: payload.plan_json_api_url === undefined ? null : (ctx.ownServer.pathOf(payload.plan_json_api_url) ?? null),
    runUrl: payload.run_app_url,
  })
}

function isSigned({ body, signature }: { body: Buffer; signature: string }, hmacKey: string) {
  const given = Buffer.from(signature)
  const wanted = Buffer.from(taskSignature(body, hmacKey))
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
