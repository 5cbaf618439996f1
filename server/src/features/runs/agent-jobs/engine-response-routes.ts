import { AGENT_API, type EngineResponsesHeader } from '@groundstate/contract/agent'
import { packEnvelope } from '@groundstate/contract/envelope'
import type { Ctx } from '../../../app.ts'
import { type RunActor, engineNames } from '../../../auth/actor.ts'
import { AppError } from '../../../errors.ts'
import { bearerToken } from '../../../http/authenticate.ts'
import { errorDocument, errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { serialise } from '../../../http/raw-json.ts'
import { type ApiResponse, binary, bytes, noContent, ok, unstored } from '../../../http/responses.ts'
import { BASE_HEADERS, JSON_API_TYPE } from '../../../http/write.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { entitlementSetResource } from '../../organizations/organizations/resource.ts'
import { requireCurrentStateVersion } from '../../states/state-versions/access.ts'
import { readContent } from '../../states/state-versions/content.ts'
import { presentStateVersion } from '../../states/state-versions/includes.ts'
import { SNAPSHOT_INTERVAL } from '../../states/state-versions/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { showWorkspace } from '../../workspaces/workspaces/service.ts'
import { requireJob } from './access.ts'
import type { Job } from './store.ts'

/** Larger states, in bytes, are not sent with the responses: the engine downloads them. */
const MAX_STATE_BYTES = 1024 * 1024

const ENVELOPE = 'application/octet-stream'

export const engineResponsesRoutes: Routes = (http) => {
  http.get(
    '/jobs/:jobId/engine-answers',
    {
      access: 'job',
      prefix: AGENT_API,
      summary: 'Download prepared responses for the engine of a job',
      responses: { 200: binary(ENVELOPE) },
    },
    async (req) => {
      const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      const { header, bodies } = await engineResponses({ ...req.ctx, actor: engineOf(job) }, job)
      return unstored(bytes(Buffer.from(packEnvelope(header, bodies)), ENVELOPE))
    },
  )
}

/** The actor of the engine's token. The token's id is unknown, and needed only for writes. */
function engineOf(job: Job): RunActor {
  return {
    kind: 'run',
    runId: job.run_id,
    workspaceId: job.workspace_id,
    organizationId: job.organization_id,
    tokenId: '',
    withholdsSecrets: job.withholds_secrets,
    names: engineNames(job),
  }
}

type PreparedResponse = { path: string; response: ApiResponse }

/** The public API's responses to requests that every engine sends. Rejected requests are omitted, so that the engine sends them. */
async function engineResponses(ctx: Ctx & { actor: RunActor }, job: Job) {
  const { workspaceId, names } = ctx.actor
  const [workspace, entitlements, state] = await Promise.all([
    unlessRejected(async () => requireWorkspace(ctx, workspaceId, 'workspace:read')),
    unlessRejected(async () => (names ? requireOrganization(ctx, names.organization, 'organization:read') : undefined)),
    currentState(ctx),
  ])
  const prepared: PreparedResponse[] = [{ path: 'ping', response: noContent() }]
  if (names !== undefined && entitlements !== undefined) {
    const path = `organizations/${names.organization}`
    prepared.push({ path: `${path}/entitlement-set`, response: ok(entitlementSetResource(entitlements)) })
    const response = workspace && ok(await showWorkspace(ctx, workspace))
    if (response) prepared.push({ path: `${path}/workspaces/${names.workspace}`, response })
  }
  // Unless the run holds the lock, others may store a state at any time.
  const isHeld = workspace?.locked_by_type === 'run' && workspace.locked_by_id === job.run_id
  if (isHeld) prepared.push({ path: `workspaces/${workspaceId}/current-state-version`, response: state.response })

  const parts = prepared.map(({ path, response: { status, document, headers } }) => {
    const body = document === undefined ? Buffer.alloc(0) : serialise(document).content
    const type = document !== undefined && { 'content-type': JSON_API_TYPE }
    return { body, response: { path, status, headers: { ...BASE_HEADERS, ...type, ...headers }, size: body.length } }
  })
  const content = isHeld ? state.content : undefined
  const header = {
    responses: parts.map(({ response }) => response),
    ...(content && { state: { url: content.url, size: content.raw.length } }),
  } satisfies EngineResponsesHeader
  return { header, bodies: [...parts.map(({ body }) => body), ...(content ? [content.raw] : [])] }
}

/** The response for the current state, even if that is an error, and the content of a small state. */
async function currentState(ctx: Ctx & { actor: RunActor }) {
  try {
    const version = await requireCurrentStateVersion(ctx, ctx.actor.workspaceId)
    const isSmall = version.size !== null && version.size <= MAX_STATE_BYTES
    const [resource, raw] = await Promise.all([
      presentStateVersion(ctx, version),
      isSmall ? readContent(ctx, version, 'raw') : undefined,
    ])
    const url = resource.attributes['hosted-state-download-url']
    return {
      response: { ...ok(resource), headers: SNAPSHOT_INTERVAL },
      content: raw === undefined || url === null ? undefined : { url, raw },
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { response: { status: errorStatus(error), document: errorDocument(error) }, content: undefined }
  }
}

async function unlessRejected<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
