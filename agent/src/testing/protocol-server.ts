import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { AGENT_API, claimBody, registerAgentBody, type RegisterAgent } from '@groundstate/contract/agent'
import { answerJob } from './answer-job.ts'
import { createGitQueue } from './git-queue.ts'
import { createPolicyQueue } from './policy-queue.ts'
import { createJob, type JobInput, type JobRecord, type TestJob } from './protocol-job.ts'
import { refuseAs, sendJson } from './replies.ts'
import { createTaskQueue, type TaskQueue } from './task-queue.ts'
import { createWorkspaceApi, readBody, type WorkspaceApi } from './workspace-api.ts'

export const AGENT_TOKEN = 'agent-token'

export type ProtocolServer = AsyncDisposable & {
  url: string
  api: WorkspaceApi
  submit: (input: JobInput) => TestJob
  /** Sets the apply for the response to the plan's result, if the agent requests it. */
  submitNext: (plan: TestJob, input: JobInput) => TestJob
  tasks: TaskQueue
  git: ReturnType<typeof createGitQueue>
  policies: ReturnType<typeof createPolicyQueue>
  /** Drops every connection and rejects new ones until `resume`, on the same port. */
  pause: () => Promise<void>
  resume: () => Promise<void>
  /** Refuses the agent token from now on, including pending claims. */
  revokeToken: () => void
  claims: () => number
  registrations: () => number
  /** Registrations of agents, the newest last. */
  registered: RegisterAgent[]
  /** Responds to registrations and claims with this status, until it is undefined. */
  refuseAgents: (status: number | undefined, detail?: string) => void
  /** Responds like a proxy to requests for which this returns a status. */
  refuse: (status: (request: { verb: string; kind: string; body: Buffer }) => number | undefined) => void
  /** The agents that have deregistered. */
  deregistered: string[]
}

/**
 * The server side of the agent protocol, in memory, on a real port, with the few endpoints of the public API that
 * an engine calls. Leases in a database and permissions are
 * tested with the real server.
 */
export async function startProtocolServer(tls?: { cert: string; key: string }): Promise<ProtocolServer> {
  const jobs = new Map<string, JobRecord>()
  const queue: JobRecord[] = []
  const waiting: ((job: JobRecord | undefined) => void)[] = []
  const tasks = createTaskQueue()
  const git = createGitQueue()
  const policies = createPolicyQueue()
  const api = createWorkspaceApi((token) =>
    [...jobs.values()].find(
      ({ job, lost, givenUp, ended }) => job.engineToken === token && !lost && !givenUp && !ended,
    ),
  )
  const registered: RegisterAgent[] = []
  const deregistered: string[] = []
  /** Agents that have deregistered and not registered again. */
  const deregisteredIds = new Set<string>()
  let refusal: number | undefined
  let refusalDetail: string | undefined
  let refusedBy: Parameters<ProtocolServer['refuse']>[0] | undefined
  let revoked = false
  let sequence = 0
  const listener = () => (tls === undefined ? createServer(handle) : createHttpsServer(tls, handle))
  let server: Server = listener()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the test server has no port')
  const { port } = address
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`

  function handle(request: IncomingMessage, response: ServerResponse) {
    respond(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    })
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', url)
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    if (!target.pathname.startsWith(`${AGENT_API}/`)) {
      await api.response(request, response, { target, token, url })
      return
    }
    const [noun, id, verb, kind] = target.pathname.slice(AGENT_API.length + 1).split('/')
    const body = await readBody(request)
    const status = refusedBy?.({ verb: verb ?? noun ?? '', kind: kind ?? '', body })
    if (status !== undefined) return sendJson(response, { message: 'no' }, status)
    if (noun === 'register') {
      if (token !== AGENT_TOKEN) return refuseAs(response, 401)
      if (refusal !== undefined) return refuseAs(response, refusal, refusalDetail)
      const agent = registerAgentBody.parse(JSON.parse(body.toString()))
      registered.push(agent)
      const agentId = agent.agentId ?? `agent-${registered.length}`
      deregisteredIds.delete(agentId)
      return sendJson(response, {
        agentId,
        poolId: 'apool-1',
        poolName: 'rack',
        tokenId: `at-${registered.length}`,
      })
    }
    if (noun === 'agents' && verb === 'deregister') {
      deregistered.push(id ?? '')
      deregisteredIds.add(id ?? '')
      for (const wake of waiting.splice(0)) wake(undefined)
      tasks.endClaims()
      git.endClaims()
      policies.endClaims()
      return void response.writeHead(204).end()
    }
    // A claim that was sent before the deregistration ends immediately.
    if (verb?.startsWith('claim') && deregisteredIds.has(id ?? '')) return void response.writeHead(204).end()
    if (verb?.startsWith('claim-') && refusal !== undefined) return refuseAs(response, refusal)
    if (verb === 'claim-task' || noun === 'task-requests')
      return tasks.response(request, response, { id: id ?? '', verb: verb ?? '', token, body })
    if (verb === 'claim-git') return git.claim(request, response, body)
    if (verb === 'claim-policies') return policies.claim(request, response, body)
    if (noun === 'policy-requests')
      return policies.receive(response, { id: id ?? '', verb: verb ?? '', setId: kind ?? '', token, body })
    if (noun === 'git-requests') return git.receive(response, { id: id ?? '', verb: verb ?? '', token, body })
    if (noun === 'agents') {
      if (refusal !== undefined) return refuseAs(response, refusal)
      const { waitMs } = claimBody.parse(JSON.parse(body.toString()))
      const record = revoked ? undefined : (queue.shift() ?? (await nextJob(waitMs, request)))
      if (isRevoked()) return refuseAs(response, 401)
      return record === undefined ? void response.writeHead(204).end() : sendJson(response, record.job)
    }
    const record = jobs.get(id ?? '')
    if (record === undefined || record.lost || record.job.token !== token) return refuseAs(response, 409)
    if (verb === 'engine-answers' && api.answersEngines) return void response.end(api.engineResponses(record.job, url))
    await answerJob(record, { request, response, target, verb: verb ?? '', kind: kind ?? '', body })
  }

  const isRevoked = () => revoked

  function nextJob(waitMs: number, request: IncomingMessage): Promise<JobRecord | undefined> {
    return new Promise((resolve) => {
      const finish = (record: JobRecord | undefined) => {
        clearTimeout(timer)
        const index = waiting.indexOf(finish)
        if (index >= 0) waiting.splice(index, 1)
        resolve(record)
      }
      const timer = setTimeout(() => finish(undefined), waitMs)
      request.socket.once('close', () => finish(undefined))
      waiting.push(finish)
    })
  }

  /** The accepted plan of a run. */
  function planOf(runId: string | undefined) {
    return [...jobs.values()].findLast(({ job, ended }) => job.runId === runId && job.kind === 'plan' && ended)?.id
  }

  function create(input: JobInput): JobRecord {
    sequence += 1
    const planJobId = input.kind === 'apply' ? planOf(input.runId) : undefined
    const record = createJob(input, { sequence, planJobId })
    jobs.set(record.id, record)
    return record
  }

  function submit(input: JobInput): TestJob {
    const record = create(input)
    const wake = waiting.shift()
    if (wake === undefined) queue.push(record)
    else wake(record)
    return record
  }

  return {
    url,
    api,
    submit,
    submitNext(plan, input) {
      const record = create({ ...input, kind: 'apply', runId: plan.runId, planJobId: plan.id })
      const planned = jobs.get(plan.id)
      if (planned !== undefined) planned.next = record.job
      return record
    },
    tasks,
    git,
    policies,
    revokeToken() {
      revoked = true
      for (const wake of waiting.splice(0)) wake(undefined)
    },
    claims: () => waiting.length,
    registrations: () => registered.length,
    registered,
    deregistered,
    refuseAgents(status, detail) {
      refusal = status
      refusalDetail = detail
      for (const wake of waiting.splice(0)) wake(undefined)
    },
    refuse(status) {
      refusedBy = status
    },
    async pause() {
      await close(server)
    },
    async resume() {
      server = listener()
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async [Symbol.asyncDispose]() {
      await close(server)
    },
  }
}

async function close(server: Server) {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
