import {
  type LivenessResponse,
  type ReadinessResponse,
  livenessResponse,
  readinessResponse,
} from '@groundstate/contract/discovery'
import { unavailable } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes, json } from '../../../http/responses.ts'
import { metricsText } from '../../../metrics.ts'
import { pingDatabase } from './store.ts'

const PUBLIC = { access: 'public', prefix: '', polled: true } as const
const LIVENESS = { ...PUBLIC, summary: 'Check that the process runs', responses: { 200: livenessResponse } }
const READINESS = { ...PUBLIC, summary: 'Check that the database answers', responses: { 200: readinessResponse } }
const METRICS = { ...PUBLIC, summary: 'Show metrics for Prometheus', responses: { 200: binary('text/plain') } }

export const healthRoutes: Routes = (http) => {
  // It does not ask the database: a supervisor must not restart a server that waits for its database.
  http.get('/healthz', LIVENESS, async () => json({ status: 'ok' } satisfies LivenessResponse))

  http.get('/readyz', READINESS, async (req) => {
    try {
      await pingDatabase(req.ctx.db)
    } catch (cause) {
      req.ctx.log.warn({ err: cause }, 'not ready: the database does not answer')
      throw unavailable('the database does not answer', 1000)
    }
    return json({ status: 'ready' } satisfies ReadinessResponse)
  })

  http.get('/metrics', METRICS, async () => {
    const { text, contentType } = await metricsText()
    return bytes(Buffer.from(text), contentType)
  })
}
