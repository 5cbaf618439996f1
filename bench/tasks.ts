import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isEnded, type RunStatus } from '@groundstate/contract/run-status'
import { median, percentile } from './load.ts'
import { configurationArchive, prepareWorkspace, startRun } from './runs.ts'
import { api, type BenchRow, type Target } from './target.ts'

const RUNS = 25
const CROWD_TASKS = 50
const CROWD_WORKSPACES = 20
const CROWD_TIMEOUT_MS = 20_000

type Payload = {
  stage: string
  run_id: string
  access_token: string
  task_result_id: string
  task_result_callback_url: string
}
type Received = { payload: Payload; at: number }

/** A receiver in this process; `onRequest` is called when its response was sent. */
class Receiver {
  url = ''
  received: Received[] = []
  onRequest: (request: Received) => unknown = () => {}
  #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      const at = Date.now()
      void this.#take(request, at).finally(() => response.end())
    })
  }

  async #take(request: IncomingMessage, at: number) {
    const payload = await read(request)
    if (payload.access_token === 'test-token') return
    this.received.push({ payload, at })
    setImmediate(() => this.onRequest({ payload, at }))
  }

  async listen() {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
    return this
  }

  close() {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

async function read(request: IncomingMessage) {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString()) as Payload
}

async function pass({ task_result_callback_url: url, access_token: token }: Payload) {
  const response = await fetch(url, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type: 'task-results', attributes: { status: 'passed' } } }),
  })
  if (response.status !== 200)
    throw new Error(`the callback failed with status ${response.status}: ${await response.text()}`)
}

/** Latency of run task requests, and of runs that continue after the results. */
export async function taskBenches(target: Target): Promise<BenchRow[]> {
  const receiver = await new Receiver().listen()
  try {
    return [
      ...(await latencies(target, receiver)),
      await twentyAtOnce(target, receiver),
      ...(await crowd(target, receiver)),
    ]
  } finally {
    receiver.close()
  }
}

async function latencies(target: Target, receiver: Receiver): Promise<BenchRow[]> {
  const workspace = await prepareWorkspace(target, 'bench-stages', configurationArchive())
  await attach(target, workspace.id, await createTask(target, receiver, 'latency'), ['post_plan', 'pre_apply'])
  const reached: number[] = []
  const onward: number[] = []
  for (let index = 0; index <= RUNS; index += 1) {
    await target.turn?.()
    let called = 0
    const done = new Promise<void>((resolve, reject) => {
      receiver.onRequest = ({ payload, at }) => {
        if (payload.stage === 'post_plan') called = Date.now()
        else if (index > 0) onward.push(at - called)
        pass(payload).then(() => payload.stage === 'pre_apply' && resolve(), reject)
      }
    })
    const run = await startRun(target, workspace)
    await done
    const received = receiver.received.filter(({ payload }) => payload.run_id === run)
    const attributes = await ended(target, run)
    for (const { payload, at } of index === 0 ? [] : received) {
      reached.push(at - stamp(attributes, `${payload.stage.replace('_', '-')}-running-at`))
    }
  }
  const less = { unit: 'ms', better: 'less' } as const
  return [
    { name: 'stage reached to request on the wire, median', value: median(reached), ...less, budget: 30 },
    { name: 'stage reached to request on the wire, 95 %', value: percentile(reached, 0.95), ...less },
    { name: 'callback to request of the next stage, median', value: median(onward), ...less, budget: 30 },
  ]
}

async function twentyAtOnce(target: Target, receiver: Receiver): Promise<BenchRow> {
  const workspace = await prepareWorkspace(target, 'bench-twenty', configurationArchive())
  for (let index = 0; index < 20; index += 1) {
    await attach(target, workspace.id, await createTask(target, receiver, `twenty-${index}`), ['pre_plan'])
  }
  receiver.onRequest = ({ payload }) => setTimeout(() => void pass(payload), 200)
  const times: number[] = []
  for (let index = 0; index < 6; index += 1) {
    await target.turn?.()
    const attributes = await ended(target, await startRun(target, workspace))
    if (index > 0) times.push(stamp(attributes, 'pre-plan-completed-at') - stamp(attributes, 'pre-plan-running-at'))
  }
  const value = median(times)
  return { name: '20 tasks in a stage, callbacks after 200 ms', value, unit: 'ms', better: 'less', budget: 500 }
}

/** A thousand requests at once on a separate server, none of which is called back: lateness of requests and deadlines. */
async function crowd({ start }: Target, receiver: Receiver): Promise<BenchRow[]> {
  const target = await start({ GROUNDSTATE_RUN_TASK_TIMEOUT: String(CROWD_TIMEOUT_MS) })
  try {
    const archive = configurationArchive()
    const everywhere = { enabled: true, stages: ['pre_plan'], 'enforcement-level': 'mandatory' }
    receiver.onRequest = () => {}
    for (let index = 0; index < CROWD_TASKS; index += 1)
      await createTask(target, receiver, `crowd-${index}`, everywhere)
    const workspaces = []
    for (let index = 0; index < CROWD_WORKSPACES; index += 1) {
      workspaces.push(await prepareWorkspace(target, `bench-crowd-${index}`, archive))
    }
    const runs = await Promise.all(workspaces.map(async (workspace) => startRun(target, workspace)))
    const sent: number[] = []
    const overdue: number[] = []
    for (const run of runs) {
      const attributes = await ended(target, run)
      const running = stamp(attributes, 'pre-plan-running-at')
      overdue.push(stamp(attributes, 'errored-at') - running - CROWD_TIMEOUT_MS)
      for (const { at, payload } of receiver.received) if (payload.run_id === run) sent.push(at - running)
    }
    const expected = CROWD_TASKS * CROWD_WORKSPACES
    if (sent.length !== expected) throw new Error(`${sent.length} instead of ${expected} requests were received`)
    return [
      {
        name: '1,000 requests at once, the last one',
        value: Math.max(...sent),
        unit: 'ms',
        better: 'less',
        budget: 2000,
      },
      {
        name: '1,000 deadlines at once, the last one late by',
        value: Math.max(...overdue),
        unit: 'ms',
        better: 'less',
        budget: 2000,
      },
    ]
  } finally {
    await target.stop()
  }
}

async function createTask(target: Target, receiver: Receiver, name: string, everywhere?: Record<string, unknown>) {
  const { data } = await api(target, 'POST', '/organizations/main/tasks', {
    data: {
      type: 'tasks',
      attributes: {
        name,
        url: receiver.url,
        category: 'task',
        'hmac-key': 'bench',
        ...(everywhere && { 'global-configuration': everywhere }),
      },
    },
  })
  return data.id
}

async function attach(target: Target, workspaceId: string, taskId: string, stages: string[]) {
  await api(target, 'POST', `/workspaces/${workspaceId}/tasks`, {
    data: {
      type: 'workspace-tasks',
      attributes: { 'enforcement-level': 'mandatory', stages },
      relationships: { task: { data: { type: 'tasks', id: taskId } } },
    },
  })
}

type RunAttributes = { status: RunStatus; 'status-timestamps': Record<string, string> }

async function ended(target: Target, run: string): Promise<RunAttributes> {
  for (;;) {
    const { attributes } = (await api(target, 'GET', `/runs/${run}`)).data as { attributes: RunAttributes }
    if (isEnded(attributes.status)) return attributes
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function stamp(attributes: RunAttributes, name: string) {
  return new Date(attributes['status-timestamps'][name] ?? '').getTime()
}
