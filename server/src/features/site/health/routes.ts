import type { LivenessAnswer, ReadinessAnswer } from '@groundstate/contract/health'
import { sql } from 'kysely'
import { unavailable } from '../../../errors.ts'
import { bytes, json } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { metricsText } from '../../../metrics.ts'

export const healthRoutes: Routes = (http) => {
  // The process lives. It says nothing about the database, so that a supervisor does not restart a server that waits for one.
  http.get('/healthz', { access: 'public', prefix: '' }, async () => json({ status: 'ok' } satisfies LivenessAnswer))

  http.get('/readyz', { access: 'public', prefix: '' }, async (req) => {
    try {
      await sql`select 1`.execute(req.ctx.db)
    } catch (cause) {
      req.ctx.log.warn({ err: cause }, 'not ready: the database does not answer')
      throw unavailable('the database does not answer', 1000)
    }
    return json({ status: 'ready' } satisfies ReadinessAnswer)
  })

  http.get('/metrics', { access: 'public', prefix: '' }, async (req) => {
    const { text, contentType } = await metricsText(req.ctx)
    return bytes(Buffer.from(text), contentType)
  })
}
