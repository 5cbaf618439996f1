import { timingSafeEqual } from 'node:crypto'
import { type TaskOutcome, stage } from '@groundstate/contract/run-tasks'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { bodySignature } from '../../../deliveries/attempts.ts'
import { badRequest, unauthorized } from '../../../errors.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sealedJobProperty } from '../../../secrets/sealed.ts'
import { TEST_TOKEN } from '../../tasks/run-tasks/request.ts'
import { sampleReceiver } from './parts.ts'
import { counted } from './service.ts'
import * as store from './store.ts'

const planJson = z.object({
  resource_changes: z
    .array(z.object({ address: z.string(), change: z.object({ actions: z.array(z.string()), after: z.unknown() }) }))
    .default([]),
  output_changes: z.record(z.string(), z.object({ after_sensitive: z.unknown() })).default({}),
})
type PlanJson = z.infer<typeof planJson>

type Review = { message: string; outcomes: TaskOutcome[] }
type Level = NonNullable<NonNullable<TaskOutcome['tags']>[string]>[number]['level']

/** Summarises a plan, with findings about destroyed, exposed and sensitive resources. */
function reviewOf(plan: PlanJson, url: string): Review {
  const outcomes = [countChanges(plan), findDeletions(plan), findOpenRules(plan), findSensitiveOutputs(plan)]
  const findings = outcomes.filter(({ tags }) =>
    tags?.['severity']?.some(({ level }) => level === 'error' || level === 'warning'),
  )
  const { create, update, replace, destroy } = changesByKind(plan)
  const counts = `${create.length} to create, ${update.length} to change, ${replace.length} to replace, ${destroy.length} to destroy`
  return {
    message: `${counts}; ${findings.length === 0 ? 'no findings' : counted(findings.length, 'finding')}`,
    outcomes: outcomes.map((outcome) => ({ ...outcome, url })),
  }
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
  const rows = Object.entries(changesByKind(plan)).map(
    ([kind, addresses]) => `| ${kind} | ${addresses.length} | ${addresses.slice(0, 3).map(code).join(', ')} |`,
  )
  return {
    'outcome-id': 'SAMPLE-1',
    description: 'Planned changes',
    tags: tags(['Passed', 'none'], ['None', 'none']),
    body: [
      '## Planned changes',
      '| Action | Resources | For example |\n| --- | ---: | --- |\n' + rows.join('\n'),
      'The same from the JSON plan, which every receiver may fetch:',
      fenced('jq', '[.resource_changes[].change.actions | join("-")] | group_by(.) | map({(.[0]): length}) | add'),
    ].join('\n\n'),
  }
}

function findDeletions(plan: PlanJson): TaskOutcome {
  const { replace, destroy } = changesByKind(plan)
  const lost = [...destroy, ...replace]
  if (lost.length === 0) {
    return {
      'outcome-id': 'SAMPLE-2',
      description: 'Nothing is destroyed',
      tags: PASSED,
      body: '## Nothing is destroyed\n\nEvery existing resource is kept.',
    }
  }
  const items = lost.slice(0, MAX_LISTED).map((address) => `- ${code(address)}`)
  const more = lost.length > MAX_LISTED ? `\n- and ${lost.length - MAX_LISTED} more` : ''
  return {
    'outcome-id': 'SAMPLE-2',
    description: `Destroyed or replaced: ${listed(lost)}`,
    tags: tags(['Needs review', 'warning'], ['Medium', 'warning']),
    body: `## Destroyed or replaced\n\n${items.join('\n')}${more}`,
  }
}

const ANYWHERE = '0.0.0.0/0'

function findOpenRules({ resource_changes: changes }: PlanJson): TaskOutcome {
  const open = changes.filter(({ change }) => contains(change.after, ANYWHERE)).map(({ address }) => address)
  if (open.length === 0) {
    return {
      'outcome-id': 'SAMPLE-3',
      description: 'Nothing is open to the whole internet',
      tags: PASSED,
      body: `## Nothing is open\n\nNo resource has the address range ${code(ANYWHERE)}.`,
    }
  }
  const rows = open.slice(0, MAX_LISTED).map((address) => `| ${code(address)} | ${code(ANYWHERE)} |`)
  return {
    'outcome-id': 'SAMPLE-3',
    description: `Open to the whole internet: ${listed(open)}`,
    tags: tags(['Failed', 'error'], ['High', 'error']),
    body: [
      '## Open to the whole internet',
      `These resources have the address range ${code(ANYWHERE)}, which includes everyone:`,
      `| Resource | Range |\n| --- | --- |\n${rows.join('\n')}`,
      'List the networks that need access instead:',
      fenced('hcl', '"https" = { port = 443, source = "192.0.2.0/24" }'),
      'The task is _advisory_: its findings are warnings and do not stop the run.',
    ].join('\n\n'),
  }
}

function findSensitiveOutputs({ output_changes: outputs }: PlanJson): TaskOutcome {
  const names = Object.entries(outputs).flatMap(([name, output]) => (output.after_sensitive === true ? name : []))
  const masked = `Pages and logs mask ${names.map(code).join(', ')}. Anyone who may read the workspace's state can read the values.`
  return {
    'outcome-id': 'SAMPLE-4',
    description: names.length === 0 ? 'No output is sensitive' : `Sensitive outputs: ${listed(names)}`,
    tags: tags(['Noted', 'info'], names.length === 0 ? ['None', 'none'] : ['Low', 'warning']),
    body: `## Sensitive outputs\n\n${names.length === 0 ? 'Every output may be shown.' : masked}`,
  }
}

function tags(status: [label: string, level: Level], severity: [label: string, level: Level]) {
  const tag = ([label, level]: [string, Level]) => [{ label, level }]
  return { status: tag(status), severity: tag(severity) }
}

const PASSED = tags(['Passed', 'info'], ['None', 'none'])

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

function code(text: string) {
  return `\`${text}\``
}

function fenced(language: string, text: string) {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

/** Reviews a plan and calls back. `callback` and `plan` are paths on this server; `token` is sealed, in base64. */
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

export const sealedReviewToken = sealedJobProperty(
  reviewJob,
  'token',
  ({ resultId }: { resultId: string }) => `samples/review/${resultId}`,
)

function reviewContext(resultId: string) {
  return sealedReviewToken.context({ resultId })
}

/** Maximum size of a reviewed plan, in bytes, since the server's main process parses it. */
const MAX_PLAN_BYTES = 4 * 1024 * 1024

type Job = z.infer<typeof reviewJob.data>
type Report = { status: 'running' | 'passed'; message: string; outcomes?: readonly TaskOutcome[] }

/** Statuses of a finished task result, whose token is revoked, and of a deleted workspace. */
const FINISHED: ReadonlySet<number> = new Set([401, 404, 409])

/** Reports through the public API like any receiver. Throws for a retry; does nothing for a finished task result. */
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
    if (response.status !== 200 && !FINISHED.has(response.status)) throw rejected('callback', response)
    return response.status === 200
  }

  async function review(): Promise<Review | undefined> {
    const failed = (message: string) => ({ message, outcomes: [] })
    if (job.plan === null) return failed('there is no plan at this stage')
    const options = { headers: { authorization }, signal, maxBytes: MAX_PLAN_BYTES }
    const response = await ctx.loopbackServer.request({ method: 'GET', path: job.plan, ...options })
    if (FINISHED.has(response.status)) return undefined
    if (response.status === 204) return failed('the run has no JSON plan')
    if (response.status !== 200) throw rejected('plan', response)
    if (response.text === undefined) return failed(`the plan has more than ${MAX_PLAN_BYTES} bytes: it was not read`)
    const plan = planJson.safeParse(parseJson(response.text))
    if (!plan.success) return failed(`the plan could not be read: ${plan.error.issues[0]?.message}`)
    return reviewOf(plan.data, job.runUrl)
  }

  if (!(await report({ status: 'running', message: 'reading the plan' }))) return
  const reviewed = await review()
  if (reviewed) await report({ status: 'passed', ...reviewed })
}

/** The JSON value of a text; undefined for invalid JSON, which the schemas reject. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function rejected(what: string, { status, text }: { status: number; text: string | undefined }) {
  return new Error(`the ${what} of a sample's task returned ${status}: ${text?.slice(0, 500)}`)
}

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

/** Accepts a request of a sample's task, to call back later. Throws `unauthorized` unless the task of a sample has signed `body`. */
export async function receiveSampleRequest(ctx: Ctx, { body, signature }: { body: Buffer; signature: string }) {
  const parsed = request.safeParse(parseJson(body.toString('utf8')))
  const sample = parsed.success ? await store.findSampleOf(ctx.db, parsed.data.organization_name) : undefined
  if (!parsed.success || !sample || !isSigned({ body, signature }, sampleReceiver(ctx, sample.id).hmacKey)) {
    throw unauthorized('the request is not signed with the key of a sample run task')
  }
  const { access_token: token, task_result_id: resultId, ...payload } = parsed.data
  if (token === TEST_TOKEN) return
  const { task_result_callback_url: callbackUrl, plan_json_api_url: planUrl } = payload
  const callback = ctx.loopbackServer.pathOf(callbackUrl)
  if (callback === undefined) throw badRequest(`the callback URL is ${callbackUrl}; it must be on ${ctx.baseUrl}`)
  await ctx.jobs.enqueue(ctx.db, reviewJob, {
    resultId,
    token: ctx.secrets.seal(token, reviewContext(resultId)).toString('base64'),
    callback,
    plan: planUrl === undefined ? null : (ctx.loopbackServer.pathOf(planUrl) ?? null),
    runUrl: payload.run_app_url,
  })
}

function isSigned({ body, signature }: { body: Buffer; signature: string }, hmacKey: string) {
  const actual = Buffer.from(signature)
  const expected = Buffer.from(bodySignature(body, hmacKey))
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
