import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'

/** Number of rounds in which server and database are killed; by default as many as fit into the time limit. */
const ROUNDS = Number(process.env['STATE_KILL_ROUNDS'] ?? 50)
const TIME_MS = process.env['STATE_KILL_ROUNDS'] === undefined ? 40_000 : Number.POSITIVE_INFINITY
const FEWEST = 3
const WRITERS = 4
const LINEAGE = '7d0c27a4-55d5-4e7c-9f1b-3c1f2c4a9e10'

let server: BootedServer
beforeAll(async () => {
  server = await bootServer()
})

type Written = { raw: string; isAcknowledged: boolean }
type Writer = { id: string; name: string; serial: number; written: Map<string, Written> }

/** Small states are stored in rows, large ones in files: both must survive. */
function rawState(serial: number, size: number) {
  const noise = createHash('sha256').update(`${serial}`).digest('hex')
  const outputs = { noise: { value: noise.repeat(Math.ceil(size / noise.length)), type: 'string' } }
  return JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: LINEAGE, outputs, resources: [] })
}

async function createWriter(index: number): Promise<Writer> {
  const name = `durable-${index}`
  const { data } = await server.api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  await server.api('POST', `/workspaces/${data.id}/actions/lock`, {})
  return { id: data.id, name, serial: 0, written: new Map() }
}

/** Writes versions until the server is down; every second one inline, the others by upload. */
async function write(writer: Writer, seed: number) {
  for (let turn = seed; ; turn += 1) {
    writer.serial += 1
    const raw = rawState(writer.serial, turn % 3 === 0 ? 400_000 : 2000)
    const isInline = turn % 2 === 0
    const attributes = {
      serial: writer.serial,
      lineage: LINEAGE,
      md5: createHash('md5').update(raw).digest('hex'),
      ...(isInline && { state: Buffer.from(raw).toString('base64') }),
    }
    const created = await send('POST', `${server.url}/api/v2/workspaces/${writer.id}/state-versions`, {
      type: 'application/vnd.api+json',
      body: JSON.stringify({ data: { type: 'state-versions', attributes } }),
    })
    if (created === undefined) return
    const { data } = JSON.parse(created)
    const entry = { raw, isAcknowledged: isInline }
    writer.written.set(data.id, entry)
    if (isInline) continue
    const uploaded = await send('PUT', data.attributes['hosted-state-upload-url'], {
      type: 'application/octet-stream',
      body: raw,
    })
    if (uploaded === undefined) return
    entry.isAcknowledged = true
  }
}

/** The response; undefined without one or on failure, which happens once the database is down. */
async function send(method: string, url: string, { type, body }: { type: string; body: string }) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': type }
  const response = await fetch(url, { method, headers, body }).catch(() => undefined)
  const text = await response?.text().catch(() => undefined)
  if (response === undefined || text === undefined || response.status >= 500) return undefined
  if (response.status >= 400) throw new Error(`${method} ${url} was answered with ${response.status}: ${text}`)
  return text
}

/** Kills the server and its database at an arbitrary instruction. */
async function killBoth() {
  const [pid] = (await readFile(join(server.dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
  await server.stop('SIGKILL')
}

async function versionsOf({ name }: Writer) {
  const found: any[] = []
  for (let page: number | null = 1; page !== null;) {
    const query = `filter%5Borganization%5D%5Bname%5D=main&filter%5Bworkspace%5D%5Bname%5D=${name}`
    const list: any = await server.api('GET', `/state-versions?${query}&page%5Bsize%5D=100&page%5Bnumber%5D=${page}`)
    found.push(...list.data)
    page = list.meta.pagination['next-page']
  }
  return found
}

/** Acknowledged writes of a writer's history that were lost; empty if none. */
async function broken(writer: Writer, isChecked: (id: string) => boolean) {
  const problems: string[] = []
  const versions = new Map((await versionsOf(writer)).map((version) => [version.id, version.attributes]))
  for (const [id, { raw, isAcknowledged }] of writer.written) {
    const status = versions.get(id)?.status
    if (isAcknowledged && status !== 'finalized') problems.push(`${id} was acknowledged and is ${status}`)
    if (status !== 'finalized' || !isChecked(id)) continue
    const response = await fetch(versions.get(id)['hosted-state-download-url'])
    if ((await response.text()) !== raw) problems.push(`${id} has other bytes (${response.status})`)
  }
  for (const [id, { status, 'hosted-state-download-url': url }] of versions) {
    if (!['finalized', 'pending', 'discarded'].includes(status)) problems.push(`${id} is ${status}`)
    // Created, but killed before the response: it must be complete or absent.
    if (status === 'finalized' && !writer.written.has(id)) {
      const response = await fetch(url)
      const text = await response.text()
      if (text !== rawState(JSON.parse(text).serial, text.length > 10_000 ? 400_000 : 2000))
        problems.push(`${id} is neither absent nor whole`)
    }
  }
  const { data } = await server.api('GET', `/workspaces/${writer.id}?include=current_state_version`)
  const current = data.relationships['current-state-version']?.data?.id
  const finalized = [...versions].find(([, attributes]) => attributes.status === 'finalized')?.[0]
  if (current !== finalized) problems.push(`${current} is current, not ${finalized}`)
  return problems
}

test(
  'server and database are killed during writes: all that was acknowledged is there, byte for byte',
  async () => {
    const writers = await Promise.all(Array.from({ length: WRITERS }, (_, index) => createWriter(index)))
    const seen = new Set<string>()
    const until = performance.now() + TIME_MS
    let rounds = 0

    for (; rounds < ROUNDS && (rounds < FEWEST || performance.now() < until); rounds += 1) {
      const writing = Promise.all(writers.map(async (writer, index) => write(writer, rounds + index)))
      // During the first writes after a start, or amid many.
      await Promise.race([pause(20 + Math.random() * 400), writing])
      await killBoth()
      await writing
      await server.restart()
      // Versions from earlier rounds are checked by status only; all are read again at the end.
      for (const writer of writers) expect(await broken(writer, (id) => !seen.has(id))).toEqual([])
      for (const writer of writers) for (const id of writer.written.keys()) seen.add(id)
    }

    for (const writer of writers) expect(await broken(writer, () => true)).toEqual([])
    const entries = writers.flatMap((writer) => [...writer.written.values()])
    const acknowledged = entries.filter((entry) => entry.isAcknowledged).length
    process.stdout.write(`${rounds} kills, ${acknowledged} of ${entries.length} versions acknowledged\n`)
    expect(acknowledged).toBeGreaterThan(rounds)
  },
  30 * 60_000,
)
