import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { type BootedServer, bootServer, endOf } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'

/** The secret of a server that is written to is replaced. */

const GROUNDSTATE = join(import.meta.dirname, '../server/bin/groundstate')
const STATES = 24

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'groundstate-rotation-'))
  atEnd(async () => rm(dataDir, { recursive: true, force: true }))
})

const boot = async () => bootServer({ GROUNDSTATE_DATA_DIR: dataDir, GROUNDSTATE_AGENTS: '0' })

function start(...args: string[]) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], GROUNDSTATE_DATA_DIR: dataDir }
  const child = spawn(GROUNDSTATE, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output.text += String(data)))
  return { child, output }
}

async function groundstate(...args: string[]) {
  const { child, output } = start(...args)
  await endOf(child)
  return { code: child.exitCode, text: output.text }
}

const digest = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

/** Small states are stored in rows, large ones in files. */
async function store(server: BootedServer, workspaceId: string, serial: number, known: Map<string, string>) {
  const text = serial % 2 === 0 ? randomBytes(250_000).toString('base64') : String(serial)
  const raw = rawState({ serial, resources: [{ name: 'one', attributes: { input: text } }] })
  known.set(await storeState(server, workspaceId, raw), digest(raw))
}

/** Ids of states whose content is not what was stored. */
async function wrongStates(server: BootedServer, known: ReadonlyMap<string, string>) {
  const wrong: string[] = []
  for (const [id, sum] of known) {
    const { data }: any = await server.api('GET', `/state-versions/${id}`)
    const response = await fetch(data.attributes['hosted-state-download-url'])
    if (digest(Buffer.from(await response.arrayBuffer())) !== sum) wrong.push(id)
  }
  return wrong
}

test('the secret is replaced under writes by a command that is killed and repeated', async () => {
  const known = new Map<string, string>()
  const first = await boot()
  const workspaceId = await localWorkspace(first, 'written')
  for (let serial = 1; serial <= STATES; serial += 1) await store(first, workspaceId, serial, known)
  await first.stop()
  await rename(join(dataDir, 'secret'), join(dataDir, 'previous-secrets'))
  await writeFile(join(dataDir, 'secret'), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  const second = await boot()
  const stop = new AbortController()
  const writing = (async () => {
    for (let serial = STATES + 1; !stop.signal.aborted; serial += 1) await store(second, workspaceId, serial, known)
  })()

  const killed = start('rotate-secret')
  await expect.poll(() => killed.output.text, { timeout: 30_000, interval: 5 }).toContain('state_contents.sealed')
  killed.child.kill('SIGKILL')
  await endOf(killed.child)
  const done = await groundstate('rotate-secret')
  stop.abort()
  await writing
  await second.stop()
  await rename(join(dataDir, 'previous-secrets'), join(dataDir, 'old'))
  const last = await boot()
  const wrong = await wrongStates(last, known)
  await last.stop()
  await rename(join(dataDir, 'old'), join(dataDir, 'secret'))
  const refused = await groundstate('serve', '--port', '0')

  expect(done).toEqual({ code: 0, text: expect.stringContaining('Nothing is encrypted with another secret than') })
  expect([known.size > STATES, wrong]).toEqual([true, []])
  expect(refused).toEqual({
    code: 1,
    text: expect.stringMatching(/has been replaced by the one with the id [0-9a-f]{8}/),
  })
})
