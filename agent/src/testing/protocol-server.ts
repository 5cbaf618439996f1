import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  AGENT_API,
  agentJob,
  claimBody,
  documentsHeader,
  finishBody,
  heartbeatBody,
  registerAgentBody,
  resultHeader,
  type AgentJob,
  type ArtifactKind,
  type DocumentsHeader,
  type FinishJob,
  type RegisterAgent,
} from '@groundstate/contract/agent'
import { openParcel } from '@groundstate/contract/parcel'
import { refuseAs } from './refusal.ts'
import { createTaskQueue, type TaskQueue } from './task-queue.ts'
import { createWorkspaceApi, readBody, type WorkspaceApi } from './workspace-api.ts'

export const AGENT_TOKEN = 'agent-token'

type Command = 'continue' | 'cancel' | 'force-cancel'

/** A job on the test server, with what its agent has sent so far. */
export type TestJob = {
  id: string
  runId: string
  finished: Promise<FinishJob>
  log: () => string
  artifacts: Map<ArtifactKind, Buffer>
  /** How often its configuration was fetched. */
  fetches: () => number
  /** Resolves as soon as the log matches. */
  logged: (pattern: RegExp) => Promise<void>
  /** Answers the next heartbeat, the one under way included. */
  command: (command: Command) => void
  /** From now on the job's token is refused, as after a lost lease. */
  loseLease: () => void
  /** From now on heartbeats are refused and the engine's token is void, but what comes late is still taken, as of an apply. */
  giveUp: () => void
  /** The lease will be lost at the last moment, when the outcome arrives. */
  refuseOutcome: () => void
  /** Resolves when the documents have come that the outcome has left owing. */
  documents: Promise<DocumentsHeader>
  /** Resolves when the agent has handed the job back. */
  released: Promise<void>
}

type JobRecord = TestJob & {
  job: AgentJob
  configuration: Buffer
  bytes: Buffer
  fetched: number
  wanted: Command
  lost: boolean
  givenUp: boolean
  refusesOutcome: boolean
  /** The job that the answer to its result brings. */
  next: AgentJob | undefined
  /** Its outcome has arrived. */
  ended: boolean
  onLog: Set<() => void>
  onCommand: Set<() => void>
  resolveFinished: (body: FinishJob) => void
  resolveDocuments: (header: DocumentsHeader) => void
  resolveReleased: () => void
}

export type JobInput = Partial<Omit<AgentJob, 'options' | 'id'>> & {
  options?: Partial<AgentJob['options']>
  configuration: Buffer
  /** Artifacts that the server already has, for an apply. */
  artifacts?: Map<ArtifactKind, Buffer>
}

export type ProtocolServer = AsyncDisposable & {
  url: string
  api: WorkspaceApi
  submit: (input: JobInput) => TestJob
  /** The apply that the answer to the result of the plan brings, where the agent asks for it. */
  submitNext: (plan: TestJob, input: JobInput) => TestJob
  tasks: TaskQueue
  /** Drops every connection and refuses new ones until `resume`, on the same port. */
  pause: () => Promise<void>
  resume: () => Promise<void>
  /** From now on the agent token is refused, by claims that wait too. */
  revokeToken: () => void
  claims: () => number
  registrations: () => number
  /** What agents have said about themselves, the last one last. */
  registered: RegisterAgent[]
  /** From now on registrations and claims are answered with this status, until it is undefined. */
  refuseAgents: (status: number | undefined, detail?: string) => void
  /** From now on what a proxy would not let through is answered with the status that this gives, in words of no server of ours. */
  refuse: (status: (request: { verb: string; kind: string; body: Buffer }) => number | undefined) => void
  /** The agents that have said goodbye. */
  deregistered: string[]
}

/**
 * The server's half of the agent protocol, kept in memory, on a real port; with it the few endpoints of the public API that
 * an engine calls while it works. For tests of the agent: what the real server adds (leases in a database, permissions) is
 * tested there.
 */
export async function startProtocolServer(tls?: { cert: string; key: string }): Promise<ProtocolServer> {
  const jobs = new Map<string, JobRecord>()
  const queue: JobRecord[] = []
  const waiting: ((job: JobRecord | undefined) => void)[] = []
  const tasks = createTaskQueue()
  const api = createWorkspaceApi((token) =>
    [...jobs.values()].find(
      ({ job, lost, givenUp, ended }) => job.engineToken === token && !lost && !givenUp && !ended,
    ),
  )
  const registered: RegisterAgent[] = []
  const deregistered: string[] = []
  /** Agents that have said goodbye and were not back since. */
  const gone = new Set<string>()
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
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', url)
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    if (!target.pathname.startsWith(`${AGENT_API}/`)) {
      await api.answer(request, response, { target, token, url })
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
      gone.delete(agentId)
      return sendJson(response, {
        agentId,
        poolId: 'apool-1',
        poolName: 'rack',
      })
    }
    if (noun === 'agents' && verb === 'deregister') {
      deregistered.push(id ?? '')
      gone.add(id ?? '')
      for (const wake of waiting.splice(0)) wake(undefined)
      tasks.endClaims()
      return void response.writeHead(204).end()
    }
    // A claim that was on its way as the agent said goodbye comes to nothing at once.
    if (verb?.startsWith('claim') && gone.has(id ?? '')) return void response.writeHead(204).end()
    if (verb === 'claim-task' && refusal !== undefined) return refuseAs(response, refusal)
    if (verb === 'claim-task' || noun === 'task-requests')
      return tasks.answer(request, response, { id: id ?? '', token, body })
    if (noun === 'agents') {
      if (refusal !== undefined) return refuseAs(response, refusal)
      const { waitMs } = claimBody.parse(JSON.parse(body.toString()))
      const record = revoked ? undefined : (queue.shift() ?? (await nextJob(waitMs, request)))
      if (isRevoked()) return refuseAs(response, 401)
      return record === undefined ? void response.writeHead(204).end() : sendJson(response, record.job)
    }
    const record = jobs.get(id ?? '')
    if (record === undefined || record.lost || record.job.token !== token) return refuseAs(response, 409)
    if (verb === 'engine-answers' && api.answersEngines) return void response.end(api.engineAnswers(record.job, url))
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

  /** The plan of a run that the server has accepted. */
  function planOf(runId: string | undefined) {
    return [...jobs.values()].findLast(({ job, ended }) => job.runId === runId && job.kind === 'plan' && ended)?.id
  }

  function create(input: JobInput): JobRecord {
    sequence += 1
    const { configuration, artifacts, options, ...rest } = input
    const job = agentJob.parse({
      id: `job-${sequence}`,
      kind: 'plan',
      token: `job-token-${sequence}`,
      engineToken: `engine-token-${sequence}`,
      leaseMs: 30_000,
      runId: `run-${sequence}`,
      organizationId: 'org-acme',
      organizationName: 'acme',
      hostNames: [],
      workspaceId: 'ws-acme-net',
      workspaceName: 'net',
      // An id never gets another content.
      configurationVersionId: `cv-${createHash('sha256').update(configuration).digest('hex')}`,
      stateBytes: 0,
      stateProviders: [],
      workingDirectory: '',
      engine: { product: 'terraform', version: 'latest' },
      structuredOutput: false,
      variables: [],
      timeLimitMs: 60_000,
      graceMs: 10_000,
      takesResults: true,
      ...(rest.kind === 'apply' && { planJobId: planOf(rest.runId) }),
      ...rest,
      options: {
        isDestroy: false,
        refresh: true,
        refreshOnly: false,
        targetAddrs: [],
        replaceAddrs: [],
        allowConfigGeneration: false,
        debug: false,
        ...options,
      },
    })
    const record = jobRecord(job, configuration, artifacts ?? new Map())
    jobs.set(job.id, record)
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

type JobRequest = {
  request: IncomingMessage
  response: ServerResponse
  target: URL
  verb: string
  kind: string
  body: Buffer
}

async function answerJob(record: JobRecord, { request, response, target, verb, kind, body }: JobRequest) {
  switch (verb) {
    case 'heartbeat': {
      const { waitMs, seen } = heartbeatBody.parse(JSON.parse(body.toString()))
      if (record.wanted === seen) await commandChange(record, waitMs)
      if (record.lost || record.givenUp) return refuseAs(response, 409)
      return sendJson(response, { command: record.wanted })
    }
    case 'log': {
      const offset = Number(target.searchParams.get('offset'))
      if (offset > record.bytes.length) return refuseAs(response, 416)
      record.bytes = Buffer.concat([record.bytes, body.subarray(record.bytes.length - offset)])
      for (const listener of record.onLog) listener()
      return sendJson(response, { size: record.bytes.length })
    }
    case 'artifacts': {
      // The kind is not validated on purpose: a test would see an unknown one in the map.
      const name = kind as ArtifactKind
      if (request.method === 'PUT') {
        record.artifacts.set(name, body)
        return void response.writeHead(204).end()
      }
      const artifact = record.artifacts.get(name)
      return artifact === undefined ? refuseAs(response, 404) : void response.end(artifact)
    }
    case 'configuration':
      record.fetched += 1
      return void response.end(record.configuration)
    case 'finish':
      record.lost = record.refusesOutcome
      if (record.lost) return refuseAs(response, 409)
      record.ended = true
      response.writeHead(204).end()
      return record.resolveFinished(finishBody.parse(JSON.parse(body.toString())))
    case 'result': {
      const { header, content } = openParcel(body) ?? {}
      const { outcome, log, files, takesApply } = resultHeader.parse(header)
      const offset = log?.offset ?? 0
      if (offset > record.bytes.length) return refuseAs(response, 416)
      record.lost = record.refusesOutcome
      if (record.lost) return refuseAs(response, 409)
      const rest = Buffer.from(content ?? []).subarray(0, log?.size ?? 0)
      record.bytes = Buffer.concat([record.bytes, rest.subarray(record.bytes.length - offset)])
      for (const listener of record.onLog) listener()
      keepFiles(record, files, Buffer.from(content ?? []).subarray(log?.size ?? 0))
      record.ended = true
      if (takesApply && record.next !== undefined) sendJson(response, record.next)
      else response.writeHead(204).end()
      return record.resolveFinished(outcome)
    }
    case 'documents': {
      const { header, content } = openParcel(body) ?? {}
      const documents = documentsHeader.parse(header)
      if (!record.ended) return refuseAs(response, 409)
      keepFiles(record, documents.files, Buffer.from(content ?? []))
      response.writeHead(204).end()
      return record.resolveDocuments(documents)
    }
    case 'release':
      response.writeHead(204).end()
      return record.resolveReleased()
    default:
      return refuseAs(response, 404)
  }
}

function keepFiles(record: JobRecord, files: DocumentsHeader['files'], content: Buffer) {
  let at = 0
  for (const { kind, size } of files) {
    record.artifacts.set(kind, content.subarray(at, at + size))
    at += size
  }
}

function commandChange(record: JobRecord, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      record.onCommand.delete(finish)
      resolve()
    }
    const timer = setTimeout(finish, waitMs)
    record.onCommand.add(finish)
  })
}

function jobRecord(job: AgentJob, configuration: Buffer, artifacts: Map<ArtifactKind, Buffer>): JobRecord {
  const finished = Promise.withResolvers<FinishJob>()
  const released = Promise.withResolvers<void>()
  const documents = Promise.withResolvers<DocumentsHeader>()
  const record: JobRecord = {
    id: job.id,
    runId: job.runId,
    job,
    configuration,
    artifacts,
    bytes: Buffer.alloc(0),
    fetched: 0,
    wanted: 'continue',
    lost: false,
    givenUp: false,
    refusesOutcome: false,
    next: undefined,
    ended: false,
    onLog: new Set(),
    onCommand: new Set(),
    finished: finished.promise,
    resolveFinished: finished.resolve,
    documents: documents.promise,
    resolveDocuments: documents.resolve,
    released: released.promise,
    resolveReleased: released.resolve,
    log: () => record.bytes.toString(),
    fetches: () => record.fetched,
    logged(pattern) {
      return new Promise((resolve) => {
        const check = () => {
          if (!pattern.test(record.log())) return
          record.onLog.delete(check)
          resolve()
        }
        record.onLog.add(check)
        check()
      })
    },
    command(command) {
      record.wanted = command
      for (const wake of record.onCommand) wake()
    },
    refuseOutcome() {
      record.refusesOutcome = true
    },
    giveUp() {
      record.givenUp = true
      for (const wake of record.onCommand) wake()
    },
    loseLease() {
      record.lost = true
      for (const wake of record.onCommand) wake()
    },
  }
  return record
}

async function close(server: Server) {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

function sendJson(response: ServerResponse, document: unknown, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
