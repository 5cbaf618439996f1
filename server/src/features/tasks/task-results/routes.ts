import { Readable } from 'node:stream'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { OUTCOME_BODY_BYTES, taskCallbackBody } from '@groundstate/contract/run-tasks'
import { taskDeliverySchema, taskResultOutcomeSchema, taskResultSchema } from '@groundstate/contract/task-results'
import type { Ctx } from '../../../app.ts'
import { invalid, tooLarge } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { binary, bytes, ok } from '../../../http/responses.ts'
import { parseBody } from '../../../http/validation.ts'
import { listReadableTaskResults, requireOutcome, requireReceiver, requireTaskResult } from './access.ts'
import { taskDeliveryResource, taskOutcomeResource, taskResultResource } from './resource.ts'
import {
  listDeliveries,
  listDeliveriesOf,
  listOutcomes,
  listOutcomesOf,
  readOutcomeBody,
  readResultBody,
  recordCallback,
  redeliver,
} from './service.ts'

/** Several outcomes of maximum size, escaped as JSON. */
const MAX_CALLBACK_BYTES = 5 * OUTCOME_BODY_BYTES
const MARKDOWN = 'text/markdown; charset=utf-8'

const showResult = {
  summary: 'Show a task result',
  access: { workspace: 'runs:read' },
  responses: { 200: documentOf(taskResultSchema) },
} as const
const callback = {
  summary: 'Report a task result',
  access: 'task',
  audit: 'task_result callback',
  responses: { 200: null },
  // A stream, since the handler decides which errors of the body are invalid payloads.
  upload: true,
  maxBytes: MAX_CALLBACK_BYTES,
  authorise: async (ctx: Ctx, { id }: { id: string }) => requireReceiver(ctx, id),
} as const
const outcomes = {
  summary: 'List the outcomes of a task result',
  access: { workspace: 'runs:read' },
  responses: { 200: pageOf(taskResultOutcomeSchema) },
} as const
const showOutcome = {
  summary: 'Show an outcome',
  access: { workspace: 'runs:read' },
  responses: { 200: documentOf(taskResultOutcomeSchema) },
} as const
const outcomeBody = {
  summary: 'Show the body of an outcome',
  access: { workspace: 'runs:read' },
  responses: { 200: binary(MARKDOWN) },
} as const
const resultBody = {
  summary: 'Show the bodies of all outcomes of a task result',
  access: { workspace: 'runs:read' },
  responses: { 200: binary(MARKDOWN) },
} as const
const deliveries = {
  summary: 'List the deliveries of a task result',
  access: { workspace: 'runs:read' },
  responses: { 200: pageOf(taskDeliverySchema) },
} as const
const redelivery = {
  summary: 'Redeliver the request of a task result',
  access: { workspace: 'runs:apply' },
  audit: 'task_result redeliver',
  responses: { 200: documentOf(taskResultSchema) },
} as const

export const taskResultRoutes: Routes = (http) => {
  http.get('/task-results/:id', showResult, async (req) => {
    return ok(taskResultResource(await requireTaskResult(req.ctx, req.params.id, 'runs:read')))
  })
  http.patch('/task-results/:id/callback', callback, async (req) => {
    const body = parseBody(taskCallbackBody, parseJson(await readAll(req.raw.body)))
    await recordCallback(req.ctx, req.params.id, body.data)
    return { status: 200 }
  })

  http.get('/task-results/:id/outcomes', outcomes, async (req) => {
    return req.list(await listOutcomes(req.ctx, req.params.id, req.page()), taskOutcomeResource)
  })
  http.get('/task-result-outcomes/:id', showOutcome, async (req) => {
    return ok(taskOutcomeResource(await requireOutcome(req.ctx, req.params.id)))
  })
  http.get('/task-result-outcomes/:id/body', outcomeBody, async (req) => {
    return bytes(Buffer.from(await readOutcomeBody(req.ctx, req.params.id)), MARKDOWN)
  })
  http.get('/task-results/:id/body', resultBody, async (req) => {
    return bytes(Readable.from(await readResultBody(req.ctx, req.params.id), { objectMode: false }), MARKDOWN)
  })

  // Our own: the exchanges with the receiver.
  http.get('/task-results/:id/deliveries', deliveries, async (req) => {
    return req.list(await listDeliveries(req.ctx, req.params.id, req.page()), taskDeliveryResource)
  })
  http.post('/task-results/:id/actions/redeliver', redelivery, async (req) => {
    return ok(taskResultResource(await redeliver(req.ctx, req.params.id)))
  })
}

async function readAll(stream: unknown) {
  const chunks: Buffer[] = []
  let size = 0
  if (!(stream instanceof Readable)) return Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_CALLBACK_BYTES) throw tooLarge(`the callback has more than ${MAX_CALLBACK_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * A body that is not JSON is an invalid payload (INTERFACE §2.6.6). An empty body is a missing one, as on other routes.
 */
function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (error) {
    throw invalid(`the body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, '')
  }
}

/** Outcomes and deliveries need no check of their own: actors who see a result may read them. */
export const taskResultLoaders: readonly Loader[] = [
  {
    type: 'task-results',
    load: async (ctx, ids) => (await listReadableTaskResults(ctx, ids)).map(taskResultResource),
  },
  {
    of: 'task-results',
    relation: 'task-result-outcomes',
    load: async (ctx, results) => {
      const ids = results.map(({ id }) => id)
      const outcomes = Map.groupBy(await listOutcomesOf(ctx, ids), (row) => row.task_result_id)
      return new Map(ids.map((id) => [id, (outcomes.get(id) ?? []).map(taskOutcomeResource)]))
    },
  },
  {
    of: 'task-results',
    relation: 'deliveries',
    load: async (ctx, results) => {
      const ids = results.map(({ id }) => id)
      const deliveries = Map.groupBy(await listDeliveriesOf(ctx, ids), (row) => row.task_result_id)
      return new Map(ids.map((id) => [id, (deliveries.get(id) ?? []).map(taskDeliveryResource)]))
    },
  },
]
