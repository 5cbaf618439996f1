import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation } from '../../../db/db.ts'
import { attemptColumns } from '../../../deliveries/attempts.ts'
import { type Exchange, isPrivateResponse } from '../../../outbound/outbound.ts'
import type { Connection } from '../connections/connection.ts'
import * as logStore from './log-store.ts'

type Reported = { workspace_id: string; commit_sha: string; kind: 'run' | 'plan'; run: { id: string } | null }
type Recorded = { request: { url: string; headers: Record<string, string>; body: Buffer }; exchange: Exchange }

/** Headers of requests that contain no credentials, whatever the host. */
const SHOWN_HEADERS = new Set(['accept', 'content-type', 'user-agent'])
/** Maximum kept bytes of a response, which is only displayed. */
const KEPT_BYTES = 16 * 1024

/** Calls `send` with a connection that logs the requests about the commit. */
export async function logRequests<T>(
  ctx: Ctx,
  { connection, reported }: { connection: Connection; reported: Reported },
  send: (connection: Connection) => Promise<T>,
): Promise<T> {
  const recorded: Recorded[] = []
  const api = connection.apiWith(recordingFetch(connection.access.fetch, { about: reported.commit_sha, recorded }))
  try {
    return await send({ ...connection, api })
  } finally {
    await insertLog(ctx, { reported, recorded, secret: connection.access.token })
    const { run, workspace_id: workspace } = reported
    if (run) announce(ctx, { organization: connection.row.organization_id, type: 'runs', id: run.id, workspace })
  }
}

/** Records only requests about a commit: others of the same call may exchange credentials. */
function recordingFetch(
  send: typeof fetch,
  { about, recorded }: { about: string; recorded: Recorded[] },
): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!url.includes(about)) return send(input, init)
    const started = { at: Date.now(), from: performance.now() }
    const sent = [...new Headers(init.headers)].filter(([name]) => SHOWN_HEADERS.has(name))
    const body = typeof init.body === 'string' ? init.body : ''
    const request = { url, headers: Object.fromEntries(sent), body: Buffer.from(body) }
    const measured = () => ({ startedAt: started.at, durationMs: Math.round(performance.now() - started.from) })
    try {
      const response = await send(input, init)
      const bytes = Buffer.from(await response.clone().arrayBuffer())
      const { status, headers } = response
      const kept = { body: bytes.subarray(0, KEPT_BYTES), truncated: bytes.length > KEPT_BYTES }
      recorded.push({
        request,
        exchange: {
          ...measured(),
          isPrivate: isPrivateResponse(response),
          response: { status, headers: Object.fromEntries(headers), ...kept },
        },
      })
      return response
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      recorded.push({ request, exchange: { ...measured(), isPrivate: false, error: reason } })
      throw error
    }
  }
}

type Log = { reported: Reported; recorded: readonly Recorded[]; secret: string }

async function insertLog(ctx: Ctx, { reported, recorded, secret }: Log) {
  if (recorded.length === 0) return
  const rows = recorded.map(({ request, exchange }) => ({
    id: ctx.newId('csd'),
    workspace_id: reported.workspace_id,
    commit_sha: reported.commit_sha,
    kind: reported.kind,
    run_id: reported.run?.id ?? null,
    ...attemptColumns(ctx, { request, exchange, secrets: secret === '' ? [] : [secret] }),
    error: exchange.error ?? null,
  }))
  await logStore.insertDeliveries(ctx.db, rows).catch((error: unknown) => {
    // The workspace was deleted during the request.
    if (!isForeignKeyViolation(error)) throw error
  })
}
