import type { TaskOutcome } from '@groundstate/contract/run-tasks'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { reviewContext, type reviewJob } from './review-job.ts'
import { planJson, type Review, reviewOf } from './review.ts'

/** The receiver reads plans up to this size, in bytes: it does so in the process that serves everybody. */
const MAX_PLAN_BYTES = 4 * 1024 * 1024

type Job = z.infer<typeof reviewJob.data>
type Report = { status: 'running' | 'passed'; message: string; outcomes?: readonly TaskOutcome[] }

/**
 * Reads the plan and reports the verdict over the public API with the token of the task result, as every receiver does. Throws what may be
 * tried again; a result that has ended meanwhile takes nothing more.
 */
export async function reportSampleVerdict(ctx: Ctx, job: Job, signal: AbortSignal) {
  const authorization = `Bearer ${ctx.secrets.openText(Buffer.from(job.token, 'base64'), reviewContext(job.resultId))}`

  async function report({ status, message, outcomes = [] }: Report) {
    const data = outcomes.map((attributes) => ({ type: 'task-result-outcomes', attributes }))
    const attributes = { status, message, url: job.runUrl }
    const response = await ctx.ownServer.request({
      method: 'PATCH',
      path: job.callback,
      headers: { authorization, 'content-type': 'application/vnd.api+json' },
      body: JSON.stringify({ data: { type: 'task-results', attributes, relationships: { outcomes: { data } } } }),
      signal,
    })
    if (response.status !== 200 && !HAS_ENDED.has(response.status)) throw refused('callback', response)
    return response.status === 200
  }

  async function review(): Promise<Review | undefined> {
    if (job.plan === null) return { message: 'there is no plan at this stage', outcomes: [] }
    const headers = { authorization }
    const response = await ctx.ownServer.request({
      method: 'GET',
      path: job.plan,
      headers,
      signal,
      maxBytes: MAX_PLAN_BYTES,
    })
    if (HAS_ENDED.has(response.status)) return undefined
    if (response.status === 204) return { message: 'the run has no plan in JSON', outcomes: [] }
    if (response.status !== 200) throw refused('plan', response)
    if (response.text === undefined)
      return { message: `the plan has more than ${MAX_PLAN_BYTES} bytes: it was not read`, outcomes: [] }
    const plan = planJson.safeParse(parseJson(response.text))
    if (!plan.success) return { message: `the plan could not be read: ${plan.error.issues[0]?.message}`, outcomes: [] }
    return reviewOf(plan.data, job.runUrl)
  }

  if (!(await report({ status: 'running', message: 'reading the plan' }))) return
  const reviewed = await review()
  if (reviewed) await report({ status: 'passed', ...reviewed })
}

/** An engine's plan is JSON; what is none is refused as a plan. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The token ends with the result, and all of it with the workspace. */
const HAS_ENDED: ReadonlySet<number> = new Set([401, 404, 409])

function refused(what: string, { status, text }: { status: number; text: string | undefined }) {
  return new Error(`the ${what} of a sample's task was answered with ${status}: ${text?.slice(0, 500)}`)
}
