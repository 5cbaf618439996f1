import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, type BootedServer, bootServer } from './server.ts'

const BIN = join(import.meta.dirname, '../node_modules/.bin/groundstate')
const WORKSPACES = 4
const VERSIONS = 12

let server: BootedServer
let directory: string
beforeAll(async () => {
  server = await bootServer()
  directory = await mkdtemp(join(tmpdir(), 'groundstate-states-'))
  for (const name of ['old', 'new', 'third']) {
    await server.api('POST', '/organizations', {
      data: { type: 'organizations', attributes: { name, email: 'ops@example.com' } },
    })
  }
  for (let index = 0; index < WORKSPACES; index += 1) await workspaceWithStates(`app-${index}`)
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

function rawState(name: string, serial: number) {
  const outputs = { name: { value: `${name} at ${serial}`, type: 'string' } }
  return JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: name, outputs, resources: [] })
}

async function workspaceWithStates(name: string) {
  const { data } = await server.api('POST', '/organizations/old/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  await server.api('POST', `/workspaces/${data.id}/actions/lock`, {})
  for (let serial = 1; serial <= VERSIONS; serial += 1) {
    const raw = rawState(name, serial * 2)
    const attributes = {
      serial: serial * 2,
      md5: createHash('md5').update(raw).digest('hex'),
      state: Buffer.from(raw).toString('base64'),
    }
    await server.api('POST', `/workspaces/${data.id}/state-versions`, { data: { type: 'state-versions', attributes } })
  }
  await server.api('POST', `/workspaces/${data.id}/actions/unlock`, {})
}

type Ended = { code: number | null; out: string; err: string }

/** Starts the command; `onOutput` is called with its stderr so far. */
async function groundstate(args: string[], onOutput?: (err: string, child: ChildProcess) => void): Promise<Ended> {
  const child = spawn(BIN, ['state', ...args], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'],
      GROUNDSTATE_URL: server.url,
      GROUNDSTATE_TOKEN: ADMIN_TOKEN,
      GROUNDSTATE_FROM_TOKEN: ADMIN_TOKEN,
    },
    detached: true,
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr.on('data', (data: Buffer) => {
    err += data.toString()
    onOutput?.(err, child)
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}

/** Kills the command and its children once it has finished one workspace. */
const killHalfway = (err: string, child: ChildProcess) => {
  if (err.includes('[2/') && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
}

async function historyOf(organization: string, name: string) {
  const query = `filter%5Borganization%5D%5Bname%5D=${organization}&filter%5Bworkspace%5D%5Bname%5D=${name}&page%5Bsize%5D=100`
  const { data } = await server.api('GET', `/state-versions?${query}`)
  return Promise.all(
    data.toReversed().map(async (one: any) => (await fetch(one.attributes['hosted-state-download-url'])).text()),
  )
}

const wholeHistory = (name: string) => Array.from({ length: VERSIONS }, (_, index) => rawState(name, 2 * (index + 1)))

test('an organization is exported to a directory and imported again; both are killed and resumed', async () => {
  const toDirectory = ['export', '--organization', 'old', '--directory', 'states']
  const fromDirectory = ['import', '--organization', 'new', '--directory', 'states']

  const exported = [await groundstate(toDirectory, killHalfway), await groundstate(toDirectory)]
  const imported = [await groundstate(fromDirectory, killHalfway), await groundstate(fromDirectory)]

  expect([...exported, ...imported].map((one) => one.code)).toEqual([null, 0, null, 0])
  expect(exported[1]?.out).toMatch(/^exported 48 states of 4 workspaces \(.* MB now, \d+ of them before\)$/m)
  expect(imported[1]?.out).toMatch(/^imported 48 states of 4 workspaces/m)
  expect((await readdir(join(directory, 'states'))).filter((name) => name.startsWith('app-'))).toHaveLength(WORKSPACES)
  for (let index = 0; index < WORKSPACES; index += 1) {
    expect(await historyOf('new', `app-${index}`)).toEqual(wholeHistory(`app-${index}`))
    const { data } = await server.api('GET', `/organizations/new/workspaces/app-${index}`)
    expect(data.attributes.locked).toBe(false)
  }
})

test('an organization is copied from server to server; the copy is killed and resumed', async () => {
  const command = ['import', '--organization', 'third', '--from-url', server.url, '--from-organization', 'old']

  const killed = await groundstate(command, killHalfway)
  const resumed = await groundstate(command)

  expect([killed.code, resumed.code]).toEqual([null, 0])
  expect(resumed.err).toContain('recorded in')
  expect(await historyOf('third', 'app-0')).toEqual(wholeHistory('app-0'))
  expect(await historyOf('third', 'app-3')).toEqual(wholeHistory('app-3'))
})

test('only selected workspaces and only their latest states', async () => {
  const result = await groundstate([
    'export',
    '--organization',
    'old',
    '--directory',
    'some',
    '--workspace',
    'app-1',
    '--latest',
    '2',
  ])

  expect(result.out).toContain('exported 2 states of 1 workspace ')
  const lines = (await readFile(join(directory, 'some/app-1/history.jsonl'), 'utf8')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).serial)).toEqual([22, 24])
})

test.each([
  [['export', '--directory', 'x'], '--organization'],
  [['export', '--organization', 'old', '--directory', 'x', '--latest', 'all'], '--latest all'],
  [['export', '--organization', 'old', '--directory', 'x', '--url', 'localhost'], "'localhost' is invalid"],
  [['export', '--organization', 'old', '--directory', 'x', '--token', 'wrong'], "doesn't know the token"],
  [['export', '--organization', 'nowhere', '--directory', 'x'], 'no organization nowhere'],
  [['export', '--organization', 'old', '--directory', 'x', '--workspace', 'nothing'], 'no workspace nothing'],
  [['import', '--organization', 'new'], '--from-url'],
  [['import', '--organization', 'new', '--directory', 'not-there'], 'there is no directory'],
  [['import', '--organization', 'nowhere', '--directory', 'states'], 'no organization nowhere'],
])('%j is refused with a reason', async (args, reason) => {
  const { code, err } = await groundstate(args)

  expect(code).not.toBe(0)
  expect(err).toContain(reason)
  expect(err).not.toContain('    at ')
})
