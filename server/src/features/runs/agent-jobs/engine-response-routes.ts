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

/** Up to this size (bytes) a state is sent with the responses; of a larger one the engine fetches the content itself. */
const MAX_STATE_BYTES = 1024 * 1024

const ENVELOPE = 'application/octet-stream'

export const engineResponsesRoutes: Routes = (http) => {
  http.get(
    '/jobs/:jobId/engine-answers',
    {
      access: 'job',
      prefix: AGENT_API,
      summary: 'Show what the engine of a job will ask for',
      responses: { 200: binary(ENVELOPE) },
    },
    async (req) => {
      const job = await requireJob(req.ctx, req.params.jobId, bearerToken(req.raw))
      const { header, bodies } = await engineResponses({ ...req.ctx, actor: engineOf(job) }, job)
      return unstored(bytes(Buffer.from(packEnvelope(header, bodies)), ENVELOPE))
    },
  )
}

/** The actor behind the engine's token. The token itself is not known here, and nothing is written that would name it. */
function engineOf(job: Job): RunActor {
  return {
    kind: 'run',
    runId: job.run_id,
    workspaceId: job.workspace_id,
    organizationId: job.organization_id,
    tokenId: '',
    names: engineNames(job),
  }
}

type Found = { path: string; response: ApiResponse }

/** The public API's responses to the requests every engine makes. Refusals are left out, so that the engine gets them itself. */
async function engineResponses(ctx: Ctx & { actor: RunActor }, job: Job) {
  const { workspaceId, names } = ctx.actor
  const [workspace, entitlements, state] = await Promise.all([
    unlessRefused(async () => requireWorkspace(ctx, workspaceId, 'workspace:read')),
    unlessRefused(async () => (names ? requireOrganization(ctx, names.organization, 'organization:read') : undefined)),
    currentState(ctx),
  ])
  const found: Found[] = [{ path: 'ping', response: noContent() }]
  if (names !== undefined && entitlements !== undefined) {
    const path = `organizations/${names.organization}`
    found.push({ path: `${path}/entitlement-set`, response: ok(entitlementSetResource(entitlements)) })
    if (workspace !== undefined)
      found.push({
        path: `${path}/workspaces/${names.workspace}`,
        response: ok(await showWorkspace(ctx, workspace)),
      })
  }
  // Without the lock of the run others may store a state at any time.
  const isHeld = workspace?.locked_by_type === 'run' && workspace.locked_by_id === job.run_id
  if (isHeld) found.push({ path: `workspaces/${workspaceId}/current-state-version`, response: state.response })

  const bodies = found.map(({ response }) =>
    response.document === undefined ? EMPTY : serialise(response.document).content,
  )
  const responses = found.map(({ path, response }, index) => ({
    path,
    status: response.status,
    headers: {
      ...BASE_HEADERS,
      ...(response.document !== undefined && { 'content-type': JSON_API_TYPE }),
      ...response.headers,
    },
    size: bodies[index]?.length ?? 0,
  }))
  const content = isHeld ? state.content : undefined
  const header = {
    responses,
    ...(content !== undefined && { state: { url: content.url, size: content.raw.length } }),
  } satisfies EngineResponsesHeader
  return { header, bodies: content === undefined ? bodies : [...bodies, content.raw] }
}

const EMPTY = Buffer.alloc(0)

/** The response about the current state, be it that there is none, and the content of a state that is not large. */
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

async function unlessRefused<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}
