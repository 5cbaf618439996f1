import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Answer, type BenchRow, memoryMb, percentile, rate, type Target } from './target.ts'

const CLIENTS = 16
const WINDOW_MS = 4000
const KB = 1024
const MB = 1024 * KB

export type Body = { raw: Buffer; inline: Buffer; pending: Buffer }
type Workspace = { id: string; name: string }

/**
 * State versions: created inline and by upload, read, downloaded and listed. Every client has a workspace of its own, as
 * a lock demands; bodies are made beforehand, so that the load costs the machine as little as can be.
 */
export async function stateBenches(target: Target): Promise<BenchRow[]> {
  const api = new StateApi(target)
  await using _ = { [Symbol.asyncDispose]: () => api.close() }
  const organization = await newOrganization(api)
  const fleet = new Fleet(api, organization)
  const small = bodies(2 * KB, 400)
  const medium = bodies(200 * KB, 60)
  const large = bodies(5 * MB, 6)

  const rows: BenchRow[] = []
  const more = (name: string, value: number, budget?: number) =>
    rows.push({ name, value, unit: '/s', better: 'more', ...(budget !== undefined && { budget }) })
  const less = (name: string, value: number, unit: string, budget?: number) =>
    rows.push({ name, value, unit, better: 'less', ...(budget !== undefined && { budget }) })

  for (const [size, series, budget] of [
    ['2 KB', small, 1500],
    ['200 KB', medium, 500],
    ['5 MB', large, 25],
  ] as const) {
    more(`state created inline, ${size}, 1 client`, await creates(fleet, series, 1))
    more(`state created inline, ${size}, ${CLIENTS} clients`, await creates(fleet, series, CLIENTS), budget)
  }
  more('state pending, uploaded, finalized, 2 KB', await uploads(fleet, small), 800)
  more('state pending, uploaded, finalized, 5 MB', await uploads(fleet, large), 30)

  for (const [size, series, downloads] of [
    ['2 KB', small, 2500],
    ['5 MB', large, 200],
  ] as const) {
    const workspace = await fleet.next()
    const version = await api.create(workspace, first(series))
    await untilProcessed(api, version.id)
    const current = `/workspaces/${workspace.id}/current-state-version`
    more(`current state version read, ${size}`, await rate(CLIENTS, WINDOW_MS, () => api.read(current)), 3000)
    const url = version.attributes['hosted-state-download-url']
    more(`state downloaded, ${size}`, await rate(CLIENTS, WINDOW_MS, () => api.fetchBytes(url)), downloads)
    const output = `/state-version-outputs/${version.relationships.outputs.data[0]?.id ?? ''}`
    if (size === '2 KB') less('one output by id', await alone(() => api.send('GET', output)), 'ms', 3)
  }

  for (const count of [20, 1000, 5000]) {
    const workspace = await fleet.next()
    for (let serial = 1; serial <= count; serial += 1) await api.create(workspace, smallBody(serial))
    const list = (page: number) =>
      `/state-versions?filter%5Borganization%5D%5Bname%5D=${organization}` +
      `&filter%5Bworkspace%5D%5Bname%5D=${workspace.name}&page%5Bnumber%5D=${page}`
    more(`first page of ${count} state versions`, await rate(CLIENTS, WINDOW_MS, () => api.read(list(1))), 800)
    const last = Math.ceil(count / 20)
    less(`page ${last} of ${count} state versions, alone`, await alone(() => api.read(list(last))), 'ms', 5)
  }

  const huge = await hugeUpload({ api, next: async () => fleet.next() }, target)
  less('state of 50 MB uploaded', huge.ms, 'ms', 260)
  less('50 MB hashed and written, and nothing else', huge.bareMs, 'ms')
  less('extra memory while 50 MB are uploaded', huge.extraMb, 'MB', 100)

  less('memory after all of this, server', await memoryMb(target.pid, { alone: true }), 'MB')
  return rows
}

async function newOrganization(api: StateApi) {
  const name = `states-${Date.now().toString(36)}`
  await api.send('POST', '/organizations', {
    data: { type: 'organizations', attributes: { name, email: 'bench@example.com' } },
  })
  return name
}

/** Every client goes through the whole series in a workspace, then takes the next workspace. */
async function creates(fleet: Fleet, series: readonly Body[], clients: number) {
  const turns = await turnsOf(fleet, series, clients)
  const last = new Map<number, string>()
  const result = await rate(clients, WINDOW_MS, async (client) => {
    const { workspace, body } = await turns(client)
    last.set(client, (await fleet.api.post(workspace, body.inline)).id)
  })
  await settle(fleet.api, last)
  return result
}

/** Waits for what the server still extracts in the background, so that the next figure is that of its own work. */
async function settle(api: StateApi, last: ReadonlyMap<number, string>) {
  for (const id of last.values()) await untilProcessed(api, id)
}

async function uploads(fleet: Fleet, series: readonly Body[]) {
  const turns = await turnsOf(fleet, series, CLIENTS)
  const last = new Map<number, string>()
  const result = await rate(CLIENTS, WINDOW_MS, async (client) => {
    const { workspace, body } = await turns(client)
    const version = await fleet.api.post(workspace, body.pending)
    await fleet.api.upload(version.attributes['hosted-state-upload-url'], body.raw)
    last.set(client, version.id)
  })
  await settle(fleet.api, last)
  return result
}

async function turnsOf(fleet: Fleet, series: readonly Body[], clients: number) {
  const turns = await Promise.all(
    Array.from({ length: clients }, async () => ({ at: 0, workspace: await fleet.next() })),
  )
  return async (client: number) => {
    const turn = turns[client]
    if (!turn) throw new Error('there is no such client')
    if (turn.at === series.length) Object.assign(turn, { at: 0, workspace: await fleet.next() })
    const body = series[turn.at]
    if (!body) throw new Error('a series has no bodies')
    turn.at += 1
    return { workspace: turn.workspace, body }
  }
}

/** The upload of one state of 50 MB, beside what it takes at least: to hash those bytes and to bring them to the disk. */
async function hugeUpload({ api, next }: { api: StateApi; next: () => Promise<Workspace> }, target: Target) {
  const raw = stateOf(1, 50 * MB)
  const file = join(target.dataDir, 'bare')
  const bareStarted = performance.now()
  const { pending } = bodyOf(raw, 1, { isInline: false })
  await writeFile(file, raw, { flush: true })
  const bareMs = performance.now() - bareStarted
  await rm(file)

  const version = await api.post(await next(), pending)
  // Makes the peak start again from here.
  await writeFile(`/proc/${target.pid}/clear_refs`, '5')
  const before = await residentMb(target.pid, 'VmRSS')
  const started = performance.now()
  await api.upload(version.attributes['hosted-state-upload-url'], raw)
  const ms = performance.now() - started
  return { ms, bareMs, extraMb: (await residentMb(target.pid, 'VmHWM')) - before }
}

async function residentMb(pid: number, name: 'VmRSS' | 'VmHWM') {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

/** What is extracted from a state is a part of what is read. */
async function untilProcessed(api: StateApi, id: string) {
  for (;;) {
    const { data } = await api.send('GET', `/state-versions/${id}`)
    if (data.attributes['resources-processed']) return
    await pause(50)
  }
}

/** The median time of one call at a time, in ms. */
async function alone(work: () => Promise<unknown>) {
  const times: number[] = []
  for (let index = 0; index < 60; index += 1) {
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  return percentile(times, 0.5)
}

/** Locked workspaces, made as they are needed. */
class Fleet {
  api: StateApi
  organization: string
  made = 0

  constructor(api: StateApi, organization: string) {
    this.api = api
    this.organization = organization
  }

  async next(): Promise<Workspace> {
    this.made += 1
    const name = `states-${this.made}`
    const { data } = await this.api.send('POST', `/organizations/${this.organization}/workspaces`, {
      data: { type: 'workspaces', attributes: { name } },
    })
    await this.api.send('POST', `/workspaces/${data.id}/actions/lock`, {})
    return { id: data.id, name }
  }
}

class StateApi {
  pool: Pool
  headers: Record<string, string>

  constructor(target: Target) {
    this.pool = new Pool(target.baseUrl, { connections: CLIENTS })
    this.headers = { authorization: `Bearer ${target.token}`, 'content-type': 'application/vnd.api+json' }
  }

  async send(method: 'GET' | 'POST', path: string, body?: object | Buffer): Promise<Answer> {
    const answer = await this.pool.request({
      method,
      path: `/api/v2${path}`,
      headers: this.headers,
      ...(body !== undefined && { body: Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 400) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`)
    return JSON.parse(text) as Answer
  }

  async post(workspace: Workspace, body: Buffer) {
    return (await this.send('POST', `/workspaces/${workspace.id}/state-versions`, body)).data
  }

  async create(workspace: Workspace, body: Body) {
    return this.post(workspace, body.inline)
  }

  async upload(url: string, content: Buffer) {
    const answer = await this.pool.request({
      method: 'PUT',
      path: new URL(url).pathname,
      headers: { 'content-type': 'application/octet-stream' },
      body: content,
    })
    await answer.body.dump()
    if (answer.statusCode >= 400) throw new Error(`an upload answered ${answer.statusCode}`)
  }

  async fetchBytes(url: string) {
    const answer = await this.pool.request({ method: 'GET', path: new URL(url).pathname })
    let size = 0
    for await (const piece of answer.body) size += piece.length
    if (answer.statusCode >= 400 || size === 0) throw new Error(`a download answered ${answer.statusCode}`)
  }

  /** The answer is not parsed: that of a large state would keep the load busier than the server. */
  async read(path: string) {
    const answer = await this.pool.request({ method: 'GET', path: `/api/v2${path}`, headers: this.headers })
    const size = Buffer.byteLength(await answer.body.bytes())
    if (answer.statusCode >= 400 || size === 0) throw new Error(`GET ${path} answered ${answer.statusCode}`)
  }

  async close() {
    await this.pool.close()
  }
}

function first<T>(series: readonly T[]): T {
  const [body] = series
  if (body === undefined) throw new Error('a series has no bodies')
  return body
}

function bodies(size: number, count: number): Body[] {
  return Array.from({ length: count }, (_, index) => bodyOf(stateOf(index + 1, size), index + 1))
}

function smallBody(serial: number) {
  return bodyOf(stateOf(serial, 2 * KB), serial)
}

const LINEAGE = '0c8f6c1e-6f0b-4f0e-9d39-0f4f3f7f6a11'

export function bodyOf(raw: Buffer, serial: number, { isInline = true } = {}): Body {
  const attributes = { serial, lineage: LINEAGE, md5: createHash('md5').update(raw).digest('hex') }
  const document = (extra: object) =>
    Buffer.from(JSON.stringify({ data: { type: 'state-versions', attributes: { ...attributes, ...extra } } }))
  return {
    raw,
    inline: isInline ? document({ state: raw.toString('base64') }) : Buffer.alloc(0),
    pending: document({}),
  }
}

/** A state of about `size` bytes as the engine writes it: resources of 1 KB or so, with ids as providers make them. */
export function stateOf(serial: number, size: number) {
  const resources: object[] = []
  for (let index = 0; index * 1300 < size - 700; index += 1) {
    const digest = createHash('sha256').update(`${serial}/${index}`).digest('hex')
    resources.push({
      mode: 'managed',
      type: 'terraform_data',
      name: `item_${index}`,
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: [
        {
          schema_version: 0,
          attributes: {
            id: digest,
            input: `${digest} `.repeat(8),
            output: `${digest} `.repeat(4),
            triggers_replace: null,
          },
          sensitive_attributes: [],
        },
      ],
    })
  }
  const outputs = { region: { value: 'eu-central-1', type: 'string' } }
  const state = {
    version: 4,
    terraform_version: '1.11.4',
    serial,
    lineage: LINEAGE,
    outputs,
    resources,
    check_results: null,
  }
  return Buffer.from(`${JSON.stringify(state, null, 2)}\n`)
}
