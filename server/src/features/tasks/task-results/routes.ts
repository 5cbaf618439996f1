import { Readable } from 'node:stream'
import type { Resource } from '@groundstate/contract/json-api'
import { documentOf, pageOf, uncountedPageOf } from '@groundstate/contract/responses'
import { OUTCOME_BODY_BYTES, taskCallbackBody } from '@groundstate/contract/run-tasks'
import * as contract from '@groundstate/contract/task-results'
import { invalid, tooLarge } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { oneOf } from '../../../http/query.ts'
import { binary, bytes, ok, uncountedPage } from '../../../http/responses.ts'
import { parseBody } from '../../../http/validation.ts'
import { listReadableTaskResults, requireOutcome, requireReceiver, requireTaskResult } from './access.ts'
import {
  deliveryOfTaskResource,
  taskDeliveryResource,
  taskHealthResource,
  taskOutcomeResource,
  taskResultResource,
} from './resource.ts'
import * as service from './service.ts'

/** Several outcomes of maximum size, escaped as JSON. */
const MAX_CALLBACK_BYTES = 5 * OUTCOME_BODY_BYTES
const MARKDOWN = 'text/markdown; charset=utf-8'

const READ = { access: { workspace: 'runs:read' } } as const
const RESULT = { 200: documentOf(contract.taskResultSchema) }

export const taskResultRoutes: Routes = (http) => {
  http.get('/task-results/:id', { summary: 'Show a task result', ...READ, responses: RESULT }, async (req) =>
    ok(taskResultResource(await requireTaskResult(req.ctx, req.params.id, 'runs:read'))),
  )
  http.patch(
    '/task-results/:id/callback',
    {
      summary: 'Report a task result',
      access: 'task',
      audit: 'task_result callback',
      responses: { 200: null },
      // A stream, since the handler decides which errors of the body are invalid payloads.
      upload: true,
      maxBytes: MAX_CALLBACK_BYTES,
      authorise: async (ctx, { id }) => requireReceiver(ctx, id),
    },
    async (req) => {
      const body = parseBody(taskCallbackBody, parseJson(await readAll(req.raw.body)))
      await service.recordCallback(req.ctx, req.params.id, body.data)
      return { status: 200 }
    },
  )

  http.get(
    '/task-results/:id/outcomes',
    {
      summary: 'List the outcomes of a task result',
      ...READ,
      responses: { 200: pageOf(contract.taskResultOutcomeSchema) },
    },
    async (req) => req.list(await service.listOutcomes(req.ctx, req.params.id, req.page()), taskOutcomeResource),
  )
  http.get(
    '/task-result-outcomes/:id',
    { summary: 'Show an outcome', ...READ, responses: { 200: documentOf(contract.taskResultOutcomeSchema) } },
    async (req) => ok(taskOutcomeResource(await requireOutcome(req.ctx, req.params.id))),
  )
  http.get(
    '/task-result-outcomes/:id/body',
    { summary: 'Show the body of an outcome', ...READ, responses: { 200: binary(MARKDOWN) } },
    async (req) => bytes(Buffer.from(await service.readOutcomeBody(req.ctx, req.params.id)), MARKDOWN),
  )
  http.get(
    '/task-results/:id/body',
    { summary: 'Show the bodies of all outcomes of a task result', ...READ, responses: { 200: binary(MARKDOWN) } },
    async (req) =>
      bytes(Readable.from(await service.readResultBody(req.ctx, req.params.id), { objectMode: false }), MARKDOWN),
  )

  // Our own: the exchanges with the receiver.
  http.get(
    '/task-results/:id/deliveries',
    {
      summary: 'List the deliveries of a task result',
      ...READ,
      responses: { 200: pageOf(contract.taskDeliverySchema) },
    },
    async (req) => req.list(await service.listDeliveries(req.ctx, req.params.id, req.page()), taskDeliveryResource),
  )
  http.get(
    '/tasks/:taskId/deliveries',
    {
      summary: 'List the deliveries of a run task',
      access: { organization: 'run-tasks:read' },
      query: { 'filter[status]': oneOf(contract.DELIVERY_STATUS).describe('only deliveries of this status') },
      responses: { 200: uncountedPageOf(contract.deliveryOfTaskSchema) },
    },
    async (req) => {
      const page = req.page()
      const list = { status: req.query['filter[status]'], page }
      const { rows, isLast } = await service.listTaskDeliveries(req.ctx, req.params.taskId, list)
      return uncountedPage({ url: req.url, page, isLast }, rows.map(deliveryOfTaskResource))
    },
  )
  http.post(
    '/task-results/:id/actions/redeliver',
    {
      summary: 'Redeliver the request of a task result',
      access: { workspace: 'runs:apply' },
      audit: 'task_result redeliver',
      responses: RESULT,
    },
    async (req) => ok(taskResultResource(await service.redeliver(req.ctx, req.params.id))),
  )
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

/** A body that is not JSON is an invalid payload (INTERFACE §2.6.6). An empty body is a missing one, as on other routes. */
function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (error) {
    throw invalid(`the body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, '')
  }
}

/** Outcomes and deliveries are not authorised separately: actors who see a result may read them. */
export const taskResultLoaders: readonly Loader[] = [
  {
    type: 'task-results',
    load: async (ctx, ids) => (await listReadableTaskResults(ctx, ids)).map(taskResultResource),
  },
  {
    of: 'task-results',
    relation: 'task-result-outcomes',
    load: async (ctx, results) =>
      byResult(results, await service.listOutcomesOf(ctx, idsOf(results)), taskOutcomeResource),
  },
  {
    of: 'task-results',
    relation: 'deliveries',
    load: async (ctx, results) =>
      byResult(results, await service.listDeliveriesOf(ctx, idsOf(results)), taskDeliveryResource),
  },
  {
    of: 'tasks',
    relation: 'health',
    load: async (ctx, tasks) =>
      new Map((await service.listTaskHealth(ctx, idsOf(tasks))).map((row) => [row.task_id, taskHealthResource(row)])),
  },
]

const idsOf = (results: readonly Resource[]) => results.map(({ id }) => id)

function byResult<Row extends { task_result_id: string }>(
  results: readonly Resource[],
  rows: readonly Row[],
  resourceOf: (row: Row) => Resource,
) {
  const groups = Map.groupBy(rows, (row) => row.task_result_id)
  return new Map(results.map(({ id }) => [id, (groups.get(id) ?? []).map(resourceOf)]))
}
