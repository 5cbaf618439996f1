import { Readable } from 'node:stream'
import { OUTCOME_BODY_BYTES, taskCallbackBody } from '@groundstate/contract/run-tasks'
import { invalid, tooLarge } from '../../../errors.ts'
import { bytes, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { parseBody } from '../../../http/validation.ts'
import { callBack, checkCallbackToken } from './callback.ts'
import { listDeliveries, redeliver } from './deliveries.ts'
import { listOutcomes, openResultBody, readOutcomeBody, requireOutcome } from './outcomes.ts'
import { taskDeliveryResource, taskOutcomeResource, taskResultResource } from './resource.ts'
import { requireTaskResult } from './service.ts'

/** Several outcomes of the largest size, as JSON escapes them. */
const MAX_CALLBACK_BYTES = 5 * OUTCOME_BODY_BYTES
const MARKDOWN = 'text/markdown; charset=utf-8'

export const taskResultRoutes: Routes = (http) => {
  http.get('/task-results/:id', async (req) => {
    return ok(taskResultResource(await requireTaskResult(req.ctx, req.params.id, 'runs:read')))
  })

  // Read as a stream, so that nobody without a token makes the server take in megabytes.
  http.patch(
    '/task-results/:id/callback',
    { forTask: true, upload: true, maxBytes: MAX_CALLBACK_BYTES },
    async (req) => {
      checkCallbackToken(req.ctx, req.params.id)
      const body = parseBody(taskCallbackBody, parseJson(await readAll(req.raw.body)))
      await callBack(req.ctx, req.params.id, body.data)
      return { status: 200 }
    },
  )

  http.get('/task-results/:id/outcomes', async (req) => {
    const page = req.page()
    const { rows, total } = await listOutcomes(req.ctx, req.params.id, page)
    return listPage({ url: req.url, page }, { rows: rows.map(taskOutcomeResource), total })
  })
  http.get('/task-result-outcomes/:id', async (req) => {
    return ok(taskOutcomeResource(await requireOutcome(req.ctx, req.params.id)))
  })
  http.get('/task-result-outcomes/:id/body', async (req) => {
    return bytes(Buffer.from(await readOutcomeBody(req.ctx, req.params.id)), MARKDOWN)
  })
  http.get('/task-results/:id/body', async (req) => {
    return bytes(Readable.from(await openResultBody(req.ctx, req.params.id), { objectMode: false }), MARKDOWN)
  })

  // Our own: what was sent and what came back.
  http.get('/task-results/:id/deliveries', async (req) => {
    const page = req.page()
    const { rows, total } = await listDeliveries(req.ctx, req.params.id, page)
    return listPage({ url: req.url, page }, { rows: rows.map(taskDeliveryResource), total })
  })
  http.post('/task-results/:id/actions/redeliver', async (req) => {
    return ok(taskResultResource(await redeliver(req.ctx, req.params.id)))
  })
}

async function readAll(stream: unknown) {
  const pieces: Buffer[] = []
  let size = 0
  if (!(stream instanceof Readable)) return Buffer.alloc(0)
  for await (const piece of stream as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > MAX_CALLBACK_BYTES) throw tooLarge(`the callback has more than ${MAX_CALLBACK_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** What is no JSON is an invalid payload here (INTERFACE §2.6.6), and nothing at all is a missing one, as on other routes. */
function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (error) {
    throw invalid(`the body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, '')
  }
}
