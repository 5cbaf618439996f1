import { badRequest } from '../../../errors.ts'
import { closingSignal } from '../../../http/closing.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { binary } from '../../../http/responses.ts'
import { openChanges, requireWatchedOrganization } from './open.ts'

const TYPE = 'text/event-stream'

export const changeRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/changes',
    {
      summary: 'Stream the changes in an organization as server-sent events',
      access: { organization: 'organization:read' },
      query: {
        after: text().describe('the id of the last received event, unless the header Last-Event-ID has it'),
      },
      responses: { 200: binary(TYPE) },
      endless: true,
      authorise: async (ctx, { organization }) => requireWatchedOrganization(ctx, organization),
    },
    async (req) => {
      const accept = req.header('accept')
      if (!accept?.includes(TYPE))
        throw badRequest(`the header accept is ${accept ?? 'missing'}, this stream of events requires ${TYPE}`)
      const after = readCursor(req.header('last-event-id') ?? req.query.after)
      const data = openChanges(req.ctx, req.subject, { after, closing: closingSignal(req.raw) })
      // Proxies must not buffer events.
      const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
      return { status: 200, headers, content: { type: TYPE, data } }
    },
  )
}

/** Our cursors have no other characters, which could end a line of an event. */
function readCursor(text: string | undefined) {
  if (text === undefined || text === '') return undefined
  return /^[\w-]{1,100}$/.test(text) ? text : 'unknown'
}
