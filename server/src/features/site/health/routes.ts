import * as contract from '@groundstate/contract/discovery'
import { documentOf } from '@groundstate/contract/responses'
import { mailTestSchema, siteHealthSchema } from '@groundstate/contract/site-health'
import { unavailable } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { json, ok } from '../../../http/responses.ts'
import { findFullDisk } from '../../../postgres/directories.ts'
import { siteHealth, testMail } from './site-health.ts'
import { pingDatabase } from './store.ts'

const PUBLIC = { access: 'public', prefix: '', polled: true } as const

export const healthRoutes: Routes = (http) => {
  // Without the database: a supervisor must not restart a server that waits for its database.
  http.get(
    '/healthz',
    { ...PUBLIC, summary: 'Check that the process runs', responses: { 200: contract.livenessResponse } },
    async () => json({ status: 'ok' } satisfies contract.LivenessResponse),
  )
  http.get(
    '/readyz',
    { ...PUBLIC, summary: 'Check that the database responds', responses: { 200: contract.readinessResponse } },
    async ({ ctx }) => {
      try {
        await pingDatabase(ctx.db)
      } catch (cause) {
        const isFull = (await findFullDisk(ctx.config)) !== undefined
        const reason = isFull ? 'the disk of the database is full' : 'the database does not respond'
        ctx.log.warn({ err: cause }, `not ready: ${reason}`)
        throw unavailable(reason, 1000, cause)
      }
      return json({ status: 'ready' } satisfies contract.ReadinessResponse)
    },
  )
  http.get(
    '/admin/health',
    {
      access: 'site-admin',
      summary: 'Show the health of the server',
      responses: { 200: documentOf(siteHealthSchema) },
    },
    async ({ ctx }) => ok(await siteHealth(ctx)),
  )
  http.post(
    '/admin/mail/actions/test',
    {
      access: 'site-admin',
      summary: 'Send a test mail to yourself',
      audit: { none: 'it sends a mail and changes nothing' },
      responses: { 200: mailTestSchema },
    },
    async ({ ctx }) => json(await testMail(ctx)),
  )
}
