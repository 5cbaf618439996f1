import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { AGENT_SETTINGS } from '../agent/src/settings/agent-settings.ts'
import { readConfig } from '../server/src/config.ts'
import { SETTINGS } from '../server/src/settings.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'

const ROOT = join(import.meta.dirname, '..')
const DEPLOY = join(ROOT, 'deploy')
/** The highest exposure that `systemd-analyze security` may find, in tenths: "OK" ends at 4. */
const MAX_EXPOSURE = 35

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
if (!hasSystemd)
  console.warn('SKIPPED: systemd-analyze is not installed, so the units of deploy/systemd/ are not checked')

const read = async (path: string) => readFile(join(DEPLOY, path), 'utf8')

const SERVICES = ['groundstate.service', 'groundstate-agent.service', 'groundstate-backup.service']

test.runIf(hasSystemd).each([...SERVICES, 'groundstate-backup.timer'])(
  'systemd understands every line of %s',
  (unit) => {
    const verified = spawnSync('systemd-analyze', ['verify', join(DEPLOY, 'systemd', unit)], { encoding: 'utf8' })

    // Messages about other units of the machine are not ours.
    expect(`${verified.stdout}${verified.stderr}`.split('\n').filter((line) => line.includes(unit))).toEqual([])
    expect(verified.status).toBe(0)
  },
)

test.runIf(hasSystemd).each(SERVICES)('the exposure of %s is low', (unit) => {
  const flags = ['--offline=true', `--threshold=${MAX_EXPOSURE}`, '--no-pager']
  const rated = spawnSync('systemd-analyze', ['security', ...flags, join(DEPLOY, 'systemd', unit)])

  expect(rated.status).toBe(0)
})

test.each(SERVICES.slice(0, 2))(
  'systemd waits longer than the drain of %s, and leaves engines time to store their state',
  async (unit) => {
    const text = await read(`systemd/${unit}`)
    const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
    const drainSeconds =
      unit === 'groundstate.service'
        ? SETTINGS.drainTimeout.schema.parse(undefined) / 1000
        : AGENT_SETTINGS.drainSeconds.schema.parse(undefined)

    expect(stopSeconds).toBeGreaterThanOrEqual(drainSeconds + 60)
    expect(text).toMatch(/^KillMode=process$/m)
  },
)

test('the image copies files that are in its build context', async () => {
  const dockerfile = await read('image/Dockerfile')
  const included = (await read('image/Dockerfile.dockerignore'))
    .split('\n')
    .flatMap((line) => line.match(/^!(.*)$/)?.slice(1) ?? [])
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(\S+) /gm)].map(([, source = '']) =>
    source.replace('${PACKAGE}', /^ARG PACKAGE=(.+)$/m.exec(dockerfile)?.[1] ?? ''),
  )

  expect(copied.length).toBeGreaterThan(2)
  // The package is built before the image.
  const missing = copied.filter((source) => !source.startsWith('dist/') && !existsSync(join(ROOT, source)))
  const left = copied.filter((source) => !included.some((path) => source === path || source.startsWith(`${path}/`)))
  expect([missing, left]).toEqual([[], []])
})

test('agents of the Compose file reach the address of the server, from which large states and modules come', async () => {
  type Service = {
    networks: string[] | Record<string, { aliases?: string[] } | null>
    environment: Record<string, string>
  }
  const { services } = parse(await read('compose/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
  }
  const { 'server-1': server, agent, proxy } = services
  const site = server?.environment['GROUNDSTATE_BASE_URL']?.replace('https://', '')

  const networks = Object.entries(proxy?.networks ?? {}).flatMap(([name, options]) =>
    options?.aliases?.includes(site ?? '') ? name : [],
  )

  expect(site).toMatch(/^\$\{SITE\b/)
  expect(networks).toEqual(agent?.networks)
  // Nor are they in a network of the servers, which trust the addresses that their proxy reports.
  expect(server?.networks).not.toEqual(expect.arrayContaining(networks))
  // In a container, no alias takes precedence over the own name of its loopback address.
  expect(await read('compose/example.env')).not.toMatch(/\bSITE=localhost\b/)
})

test.each([
  ['', [undefined, undefined]],
  ['ab'.repeat(32), [['ab'.repeat(32)], 'ab'.repeat(32)]],
])(
  'servers of the Compose file get optional secrets of .env, which count as not set while they are empty: %j',
  async (value, expected) => {
    const { services } = parse(await read('compose/compose.yaml'), { merge: true })
    const example = await read('compose/example.env')
    const optional = ['PREVIOUS_SECRETS', 'METRICS_TOKEN']
    expect(optional.filter((name) => !example.includes(`\n${name}=\n`))).toEqual([])
    const environment = Object.entries<string>(services['server-1'].environment).map(([name, text]) => [
      name,
      text
        .replaceAll(/\$\{SITE:.*?\}/g, 'groundstate.example.com')
        .replaceAll(/\$\{(\w+):-(.*?)\}/g, (_, variable, preset) => (optional.includes(variable) ? value : preset))
        .replaceAll(/\$\{.*?\}/g, 'cd'.repeat(32)),
    ])

    const { previousSecrets, metricsToken } = readConfig(Object.fromEntries(environment))

    expect([previousSecrets, metricsToken]).toEqual(expected)
  },
)

test('every variable of Groundstate in the files is a setting', async () => {
  const files = (await readdir(DEPLOY, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && /\/(?:compose|image|proxy|systemd)$/.test(entry.parentPath),
  )
  const texts = await Promise.all(files.map(async ({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')))
  const named = new Set(texts.join('\n').match(/\bGROUNDSTATE_[A-Z0-9_]+(?==|: )/g))
  const settings = await readFile(join(ROOT, 'docs/SETTINGS.md'), 'utf8')

  expect([...named].filter((name) => !settings.includes(`\`${name}\``))).toEqual([])
})

describe('the health check of the images', () => {
  const SERVER = ['tini', '--', 'groundstate', 'serve']
  const AGENT = ['tini', '--', 'groundstate-agent']
  const INSTALLED_AGENT = ['node', '/usr/local/lib/node_modules/groundstate-agent/groundstate-agent.js']
  const ADDRESS = 'GROUNDSTATE_AGENT_METRICS_ADDRESS'

  /** Runs it in a container with a command. */
  async function check(command: readonly string[], env: Record<string, string>) {
    const directory = await mkdtemp(join(tmpdir(), 'groundstate-health-'))
    atEnd(() => rm(directory, { recursive: true, force: true }))
    await writeFile(join(directory, 'cmdline'), command.map((word) => `${word}\0`).join(''))
    const { promise, resolve } = Promise.withResolvers<{ code: number; stderr: string }>()
    // Not synchronously: the server that it requests may be in this process.
    const args = [join(DEPLOY, 'image/health.mjs'), join(directory, 'cmdline')]
    execFile(process.execPath, args, { env }, (error, _, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr })
    })
    return promise
  }

  test.each<[string[], Record<string, string>, string]>([
    [SERVER, { GROUNDSTATE_PORT: '1', GROUNDSTATE_TLS: 'auto' }, '127.0.0.1:1'],
    [SERVER, { GROUNDSTATE_PORT: '1', GROUNDSTATE_HOST: '0.0.0.0' }, '127.0.0.1:1'],
    [SERVER, { GROUNDSTATE_PORT: '1', GROUNDSTATE_HOST: '127.0.0.3' }, '127.0.0.3:1'],
    // The settings of agents in a file that both get.
    [SERVER, { [ADDRESS]: '2', GROUNDSTATE_PORT: '1' }, '127.0.0.1:1'],
    [[...SERVER, '--port=1'], { GROUNDSTATE_PORT: '2' }, '127.0.0.1:1'],
    [AGENT, { [ADDRESS]: '0.0.0.0:1', GROUNDSTATE_PORT: '2', GROUNDSTATE_TLS: 'auto' }, '127.0.0.1:1'],
    [AGENT, { [ADDRESS]: '127.0.0.2:1' }, '127.0.0.2:1'],
    [['tini', '--', 'groundstate', 'agent'], { [ADDRESS]: '1' }, '127.0.0.1:1'],
    [[...INSTALLED_AGENT, '--metrics-address', '1'], { [ADDRESS]: '2' }, '127.0.0.1:1'],
    // The processes of the host.
    [['/sbin/init'], { [ADDRESS]: '1' }, '127.0.0.1:1'],
  ])('fails where nothing listens, with a line: %j %j', async (command, env, address) => {
    expect(await check(command, env)).toEqual({ code: 1, stderr: `/healthz: connect ECONNREFUSED ${address}\n` })
  })

  test('succeeds while the address responds', async () => {
    const http = createServer((_, response) => response.end()).listen(0, '127.0.0.2')
    atEnd(() => http.close())
    await once(http, 'listening')
    const { port } = http.address() as AddressInfo

    expect(await check(AGENT, { [ADDRESS]: `127.0.0.2:${port}` })).toEqual({ code: 0, stderr: '' })
  })

  test('succeeds for an agent that listens nowhere', async () => {
    expect(await check(INSTALLED_AGENT, { GROUNDSTATE_PORT: '1' })).toEqual({ code: 0, stderr: '' })
  })
})
