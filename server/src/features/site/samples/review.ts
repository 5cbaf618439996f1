import { timingSafeEqual } from 'node:crypto'
import { type TaskOutcome, stage } from '@groundstate/contract/run-tasks'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { badRequest, unauthorized } from '../../../errors.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { TEST_TOKEN, taskSignature } from '../../tasks/run-tasks/request.ts'
import { sampleReceiver } from './parts.ts'
import * as store from './store.ts'

/** The parts of a JSON plan that the receiver reads. */
const planJson = z.object({
  resource_changes: z
    .array(z.object({ address: z.string(), change: z.object({ actions: z.array(z.string()), after: z.unknown() }) }))
    .default([]),
  output_changes: z.record(z.string(), z.object({ after_sensitive: z.unknown() })).default({}),
})
type PlanJson = z.infer<typeof planJson>

type Review = { message: string; outcomes: TaskOutcome[] }
type Level = NonNullable<NonNullable<TaskOutcome['tags']>[string]>[number]['level']

/** The receiver's review of a plan: a summary, and findings about destroyed, opened and exposed resources. */
function reviewOf(plan: PlanJson, url: string): Review {
  const outcomes = [countChanges(plan), findDeletions(plan), findOpenRules(plan), findSensitiveOutputs(plan)]
  const findings = outcomes.filter(({ tags }) =>
    tags?.['severity']?.some(({ level }) => level === 'error' || level === 'warning'),
  )
  const { create, update, replace, destroy } = changesByKind(plan)
  const counts = `${create.length} to create, ${update.length} to change, ${replace.length} to replace, ${destroy.length} to destroy`
  const found = findings.length === 0 ? 'nothing to look at' : `${findings.length} to look at`
  return { message: `${counts}; ${found}`, outcomes: outcomes.map((outcome) => ({ ...outcome, url })) }
}

function changesByKind({ resource_changes: changes }: PlanJson) {
  const addresses = (isKind: (actions: readonly string[]) => boolean) =>
    changes.filter(({ change }) => isKind(change.actions)).map(({ address }) => address)
  const only = (action: string) => addresses((actions) => actions.length === 1 && actions[0] === action)
  return {
    create: only('create'),
    update: only('update'),
    replace: addresses((actions) => actions.includes('create') && actions.includes('delete')),
    destroy: only('delete'),
  }
}

function countChanges(plan: PlanJson): TaskOutcome {
  const kinds = Object.entries(changesByKind(plan))
  const rows = kinds.map(
    ([kind, addresses]) => `| ${kind} | ${addresses.length} | ${addresses.slice(0, 3).map(code).join(', ')} |`,
  )
  return {
    'outcome-id': 'SAMPLE-1',
    description: 'What the plan does',
    tags: { status: [tag('Passed', 'none')], severity: [tag('None', 'none')] },
    body: [
      '## What the plan does',
      '| Action | Resources | For example |\n| --- | ---: | --- |\n' + rows.join('\n'),
      'The same, from the plan as JSON that every receiver may fetch:',
      fenced('jq', '[.resource_changes[].change.actions | join("-")] | group_by(.) | map({(.[0]): length}) | add'),
    ].join('\n\n'),
  }
}

function findDeletions(plan: PlanJson): TaskOutcome {
  const { replace, destroy } = changesByKind(plan)
  const lost = [...destroy, ...replace]
  const isFine = lost.length === 0
  return {
    'outcome-id': 'SAMPLE-2',
    description: isFine ? 'Nothing is destroyed' : `Destroyed or replaced: ${listed(lost)}`,
    tags: isFine
      ? { status: [tag('Passed', 'info')], severity: [tag('None', 'none')] }
      : { status: [tag('Needs review', 'warning')], severity: [tag('Medium', 'warning')] },
    body: isFine
      ? '## Nothing is destroyed\n\nEvery resource that exists stays.'
      : `## What would be gone\n\n${lost
          .slice(0, MAX_LISTED)
          .map((address) => `- ${code(address)}`)
          .join('\n')}${more(lost)}`,
  }
}

const ANYWHERE = '0.0.0.0/0'

function findOpenRules({ resource_changes: changes }: PlanJson): TaskOutcome {
  const open = changes.filter(({ change }) => contains(change.after, ANYWHERE)).map(({ address }) => address)
  const isFine = open.length === 0
  return {
    'outcome-id': 'SAMPLE-3',
    description: isFine ? 'Nothing is open to the whole internet' : `Open to the whole internet: ${listed(open)}`,
    tags: isFine
      ? { status: [tag('Passed', 'info')], severity: [tag('None', 'none')] }
      : { status: [tag('Failed', 'error')], severity: [tag('High', 'error')] },
    body: isFine
      ? `## Nothing is open\n\nNo resource has the address range ${code(ANYWHERE)}.`
      : [
          '## Open to the whole internet',
          `These resources have the address range ${code(ANYWHERE)}, which is everybody:`,
          `| Resource | Range |\n| --- | --- |\n${open
            .slice(0, MAX_LISTED)
            .map((address) => `| ${code(address)} | ${code(ANYWHERE)} |`)
            .join('\n')}`,
          'Name the networks that need it instead:',
          fenced('hcl', '"https" = { port = 443, source = "192.0.2.0/24" }'),
          'The task is _advisory_: its findings warn, and do not stop the run.',
        ].join('\n\n'),
  }
}

function findSensitiveOutputs({ output_changes: outputs }: PlanJson): TaskOutcome {
  const names = Object.entries(outputs).flatMap(([name, output]) => (output.after_sensitive === true ? name : []))
  return {
    'outcome-id': 'SAMPLE-4',
    description: names.length === 0 ? 'No output is sensitive' : `Sensitive outputs: ${listed(names)}`,
    tags: {
      status: [tag('Noted', 'info')],
      severity: names.length === 0 ? [tag('None', 'none')] : [tag('Low', 'warning')],
    },
    body: [
      '## Sensitive outputs',
      names.length === 0
        ? 'Every output may be shown.'
        : `Pages and logs mask ${names.map(code).join(', ')}. Anyone who may read the workspace's state can read the values.`,
    ].join('\n\n'),
  }
}

/** Whether a JSON value contains the text anywhere. */
function contains(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((member) => contains(member, text))
}

const MAX_LISTED = 50

function listed(names: readonly string[]) {
  const rest = names.length - 3
  return rest > 0 ? `${names.slice(0, 3).join(', ')} and ${rest} more` : names.join(', ')
}

function more(names: readonly string[]) {
  return names.length > MAX_LISTED ? `\n- and ${names.length - MAX_LISTED} more` : ''
}

function code(text: string) {
  return `\`${text}\``
}

function fenced(language: string, text: string) {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

function tag(label: string, level: Level) {
  return { label, level }
}

/** Lets the sample's receiver call back. The paths are on this server; the token of the task result is sealed for it, in base64. */
export const reviewJob = jobKind(
  'samples.review',
  z.object({
    resultId: z.string(),
    token: z.string(),
    callback: z.string(),
    plan: z.string().nullable(),
    runUrl: z.string(),
  }),
  { timeLimitMs: 120_000 },
)

/** The context that the token of a review is sealed for. */
function reviewContext(resultId: string) {
  return `samples/review/${resultId}`
}

/** The receiver reads plans up to this size, in bytes: it does so in the process that serves everybody. */
const MAX_PLAN_BYTES = 4 * 1024 * 1024

type Job = z.infer<typeof reviewJob.data>
type Report = { status: 'running' | 'passed'; message: string; outcomes?: readonly TaskOutcome[] }

/**
 * Reads the plan and reports the verdict over the public API with the token of the task result, as every receiver does. Throws what may be
 * tried again; a result that has ended meanwhile takes nothing more.
 */
export async function reportSampleResult(ctx: Ctx, job: Job, signal: AbortSignal) {
  const authorization = `Bearer ${ctx.secrets.openText(Buffer.from(job.token, 'base64'), reviewContext(job.resultId))}`

  async function report({ status, message, outcomes = [] }: Report) {
    const data = outcomes.map((attributes) => ({ type: 'task-result-outcomes', attributes }))
    const attributes = { status, message, url: job.runUrl }
    const response = await ctx.loopbackServer.request({
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
    const response = await ctx.loopbackServer.request({
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

/** The parts of a request that the receiver reads; unknown fields are ignored. */
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
  const parsed = request.safeParse(parseJsonReceiveRequest(body))
  const sample = parsed.success ? await store.findSampleOf(ctx.db, parsed.data.organization_name) : undefined
  if (!parsed.success || !sample || !isSigned({ body, signature }, sampleReceiver(ctx, sample.id).hmacKey)) {
    throw unauthorized('only the run task of a sample is answered here: the request is not signed with its key')
  }
  const { access_token: token, task_result_id: resultId, ...payload } = parsed.data
  if (token === TEST_TOKEN) return
  const callback = ctx.loopbackServer.pathOf(payload.task_result_callback_url)
  if (callback === undefined) {
    throw badRequest(`the callback URL is ${payload.task_result_callback_url}, and must be on ${ctx.baseUrl}`)
  }
  await ctx.jobs.enqueue(ctx.db, reviewJob, {
    resultId,
    token: ctx.secrets.seal(token, reviewContext(resultId)).toString('base64'),
    callback,
    plan:
      payload.plan_json_api_url === undefined ? null : (ctx.loopbackServer.pathOf(payload.plan_json_api_url) ?? null),
    runUrl: payload.run_app_url,
  })
}

function isSigned({ body, signature }: { body: Buffer; signature: string }, hmacKey: string) {
  const given = Buffer.from(signature)
  const wanted = Buffer.from(taskSignature(body, hmacKey))
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function parseJsonReceiveRequest(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
