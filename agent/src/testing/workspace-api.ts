import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AgentJob } from '@groundstate/contract/agent'
import { packEnvelope } from '@groundstate/contract/envelope'

type StoredState = {
  id: string
  workspaceId: string
  serial: number
  md5: string
  raw: Buffer | undefined
  runId: string | undefined
  json?: Buffer
}

export type WorkspaceApi = {
  response: (
    request: IncomingMessage,
    response: ServerResponse,
    context: { target: URL; token: string | undefined; url: string },
  ) => Promise<void>
  /** Every state version of every workspace, oldest first. */
  states: StoredState[]
  /** The current state of the workspace `net`. */
  current: () =>
    | { serial: number; resources: { type: string; name: string }[]; outputs: Record<string, unknown> }
    | undefined
  /** Requests of the engine, as `METHOD path`. */
  requests: string[]
  /** When set, storing state fails with this status. */
  refuseState: number | undefined
  /** Whether agents get the responses for engines in one request, unlike with servers of earlier versions. */
  answersEngines: boolean
  /** The prefetched responses for the engine of a job, as an envelope. */
  engineResponses: (job: AgentJob, url: string) => Uint8Array
  /** Sent as X-Terraform-Snapshot-Interval, in seconds. */
  snapshotInterval: number | undefined
}

/** The endpoints of the public API that an engine calls during a run: workspaces of any name, and their state versions. */
export function createWorkspaceApi(findJob: (token: string | undefined) => unknown): WorkspaceApi {
  const api: WorkspaceApi = {
    states: [],
    requests: [],
    refuseState: undefined,
    snapshotInterval: undefined,
    answersEngines: false,
    engineResponses,
    response: respond,
    current() {
      const raw = findCurrent('ws-acme-net')?.raw
      return raw === undefined ? undefined : JSON.parse(raw.toString())
    },
  }

  async function respond(
    request: IncomingMessage,
    response: ServerResponse,
    { target, token, url }: { target: URL; token: string | undefined; url: string },
  ) {
    const body = await readBody(request)
    const route = `${request.method} ${target.pathname}`
    api.requests.push(route)
    const send = (data: unknown, status = 200) =>
      response
        .writeHead(status, {
          'content-type': 'application/vnd.api+json',
          'TFP-API-Version': '2.6',
          'TFP-AppName': 'HCP Terraform',
          ...(api.snapshotInterval === undefined
            ? {}
            : { 'X-Terraform-Snapshot-Interval': String(api.snapshotInterval) }),
        })
        .end(JSON.stringify(data))

    const upload = /^PUT \/upload\/(sv-\d+)(\/json)?$/.exec(route)
    if (upload !== null) {
      if (api.refuseState !== undefined) return void send({ errors: [] }, api.refuseState)
      const state = api.states.find(({ id }) => id === upload[1])
      if (state !== undefined) state[upload[2] === undefined ? 'raw' : 'json'] = body
      return void response.writeHead(200).end()
    }
    if (route === 'GET /api/v2/ping') return void send({})
    if (findJob(token) === undefined) return void send({ errors: [{ status: '401', title: 'unauthorized' }] }, 401)

    const download = /^GET \/download\/(sv-\d+)$/.exec(route)
    if (download !== null) return void response.end(api.states.find(({ id }) => id === download[1])?.raw)
    if (/^GET \/api\/v2\/organizations\/\w+\/entitlement-set$/.test(route)) {
      return void send({ data: { id: 'acme', type: 'entitlement-sets', attributes: { operations: true } } })
    }
    const workspace = /^GET \/api\/v2\/organizations\/\w+\/workspaces\/([\w-]+)$/.exec(route)
    if (workspace !== null) return void send({ data: workspaceResource(workspace[1] ?? '') })
    const currentOf = /^GET .*\/workspaces\/([\w-]+)\/current-state-version$/.exec(route)
    if (currentOf !== null) {
      const current = findCurrent(currentOf[1])
      if (current === undefined) return void send({ errors: [{ status: '404', title: 'not found' }] }, 404)
      return void send({ data: stateResource(current, url) })
    }
    const createIn = /^POST .*\/workspaces\/([\w-]+)\/state-versions$/.exec(route)
    if (createIn !== null) {
      if (api.refuseState !== undefined)
        return void send({ errors: [{ title: 'refused by the test' }] }, api.refuseState)
      const { data } = JSON.parse(body.toString())
      const state: StoredState = {
        id: `sv-${api.states.length + 1}`,
        workspaceId: createIn[1] ?? '',
        serial: data.attributes.serial,
        md5: data.attributes.md5,
        raw: contentOf(data.attributes.state),
        runId: data.relationships?.run?.data?.id,
      }
      const json = contentOf(data.attributes['json-state'])
      if (json !== undefined) state.json = json
      api.states.push(state)
      return void send({ data: stateResource(state, url) }, 201)
    }
    const stored = /^GET \/api\/v2\/state-versions\/(sv-\d+)$/.exec(route)
    const state = api.states.find(({ id }) => id === stored?.[1])
    if (state !== undefined) return void send({ data: stateResource(state, url) })
    send({ errors: [{ status: '404', title: `the test server has no ${route}` }] }, 404)
  }

  function findCurrent(workspaceId: string | undefined) {
    return api.states.findLast((state) => state.workspaceId === workspaceId && state.raw !== undefined)
  }

  function engineResponses({ organizationName, workspaceName }: AgentJob, url: string) {
    const workspaceId = `ws-acme-${workspaceName}`
    const current = findCurrent(workspaceId)
    const ofOrganization = `organizations/${organizationName}`
    const entitlements = { id: 'acme', type: 'entitlement-sets', attributes: { operations: true } }
    const known = {
      ping: {},
      [`${ofOrganization}/entitlement-set`]: { data: entitlements },
      [`${ofOrganization}/workspaces/${workspaceName}`]: { data: workspaceResource(workspaceName) },
      [`workspaces/${workspaceId}/current-state-version`]:
        current === undefined ? { errors: [{ status: '404' }] } : { data: stateResource(current, url) },
    }
    const headers = {
      'content-type': 'application/vnd.api+json',
      'tfp-api-version': '2.6',
      'tfp-appname': 'HCP Terraform',
    }
    const bodies = Object.values(known).map((document) => Buffer.from(JSON.stringify(document)))
    const responses = Object.entries(known).map(([path, document], index) => ({
      path,
      status: 'errors' in document ? 404 : 200,
      headers,
      size: bodies[index]?.length,
    }))
    if (current?.raw === undefined || current.raw.length > MAX_STATE_BYTES) return packEnvelope({ responses }, bodies)
    const state = { url: `${url}/download/${current.id}`, size: current.raw.length }
    return packEnvelope({ responses, state }, [...bodies, current.raw])
  }

  return api
}

/** As on the server, larger states are not sent with the responses. */
const MAX_STATE_BYTES = 1024 * 1024

function contentOf(text: string | undefined) {
  return text === undefined ? undefined : Buffer.from(text, 'base64')
}

function workspaceResource(name: string) {
  return {
    id: `ws-acme-${name}`,
    type: 'workspaces',
    attributes: {
      name,
      'execution-mode': 'remote',
      'terraform-version': 'latest',
      permissions: { 'can-queue-run': true, 'can-update': true, 'can-queue-apply': true },
      locked: false,
    },
  }
}

function stateResource(state: StoredState, url: string) {
  return {
    id: state.id,
    type: 'state-versions',
    attributes: {
      serial: state.serial,
      'hosted-state-download-url': `${url}/download/${state.id}`,
      'hosted-state-upload-url': `${url}/upload/${state.id}`,
      'hosted-json-state-upload-url': `${url}/upload/${state.id}/json`,
    },
  }
}

export async function readBody(request: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
