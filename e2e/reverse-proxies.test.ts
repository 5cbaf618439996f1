import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { freePort } from '../server/src/testing/ports.ts'
import { localCertificate } from '../server/src/tls/authority.ts'
import { ADMIN_TOKEN, type BootedServer, bootServer, endOf } from './server.ts'

const FILES = join(import.meta.dirname, '../deploy/proxy')
/** The client's address; the proxy connects from 127.0.0.1, which the server trusts. */
const CLIENT = '127.0.0.5'
const RETRY_MS = 100

let directory: string
let server: BootedServer
/** Port of the proxy; all proxies use the same, since the server has one base URL. */
let port: number
let ca: string
/** The second server of the files, which is down. */
let deadPort: number
let serverPort: number

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'groundstate-proxy-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  // nginx as root has workers of another user.
  await chmod(directory, 0o755)
  const { cert, key, caFile = '' } = await localCertificate(join(directory, 'tls'), [])
  ca = await readFile(caFile, 'utf8')
  await writeFile(join(directory, 'fullchain.pem'), cert)
  await writeFile(join(directory, 'privkey.pem'), key)
  await writeFile(join(directory, 'groundstate.pem'), `${cert}${key}`)
  ;[port, deadPort, serverPort] = [await freePort(), await freePort(), await freePort()]
  server = await bootServer(
    {
      GROUNDSTATE_BASE_URL: `https://localhost:${port}`,
      GROUNDSTATE_TRUST_PROXY: '127.0.0.1',
      GROUNDSTATE_AGENTS: '0',
    },
    { port: serverPort },
  )
})

/** Settings of a shipped file for this test: names, ports and certificates. */
async function adapted(file: string) {
  const shipped = await readFile(join(FILES, file), 'utf8')
  return shipped
    .replaceAll('127.0.0.1:7777', `127.0.0.1:${serverPort}`)
    .replaceAll('127.0.0.1:7778', `127.0.0.1:${deadPort}`)
    .replaceAll('groundstate.example.com', 'localhost')
    .replaceAll(/\/etc\/(?:ssl\/groundstate|haproxy)\//g, `${directory}/`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('bind :80', `bind unix@${directory}/http.sock`)
    .replace('listen 80;', `listen unix:${directory}/http.sock;`)
}

const PROXIES = {
  async nginx() {
    const site = await adapted('nginx.conf')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${directory}/${name};`,
    )
    const main = `daemon off; pid ${directory}/nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')}
${site} }`
    await writeFile(join(directory, 'nginx.conf'), main)
    return ['nginx', '-c', join(directory, 'nginx.conf')]
  },
  async caddy() {
    const site = await adapted('Caddyfile')
    const global = `{\n admin off\n auto_https off\n}\n`
    const tls = `tls ${directory}/fullchain.pem ${directory}/privkey.pem`
    await writeFile(
      join(directory, 'Caddyfile'),
      global + site.replace(/^\{\$SITE:localhost\} \{/m, `https://localhost:${port} {\n${tls}`),
    )
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(directory, 'Caddyfile')]
  },
  async haproxy() {
    await writeFile(join(directory, 'haproxy.cfg'), await adapted('haproxy.cfg'))
    return ['haproxy', '-W', '-db', '-f', join(directory, 'haproxy.cfg')]
  },
} as const

/** Starts a proxy and waits until it forwards requests; it ends with the test. */
async function startProxy(name: keyof typeof PROXIES) {
  const [program = '', ...args] = await PROXIES[name]()
  const env = { PATH: process.env['PATH'], HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory }
  const proxy: ChildProcess = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [proxy.stdout, proxy.stderr]) stream?.on('data', (data: Buffer) => (output += data.toString()))
  atEnd(async () => {
    proxy.kill('SIGTERM')
    await endOf(proxy)
  })
  for (;;) {
    if (proxy.exitCode !== null) throw new Error(`${name} ended:\n${output}`)
    const response = await send('GET', '/readyz').catch(() => undefined)
    response?.resume()
    if (response?.statusCode === 200) return
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

type Sent = { headers?: Record<string, string>; body?: Buffer | string }

/** Sends a request from `CLIENT` to the proxy. Each has a new connection. */
async function send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<IncomingMessage> {
  const sent = request({
    host: '127.0.0.1',
    servername: 'localhost',
    port,
    path,
    method,
    ca,
    agent: false,
    localAddress: CLIENT,
    headers: {
      host: `localhost:${port}`,
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/vnd.api+json',
      ...headers,
    },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  response.on('error', () => {})
  return response
}

async function api(method: string, path: string, body?: unknown) {
  const response = await send(method, `/api/v2${path}`, body === undefined ? {} : { body: JSON.stringify(body) })
  const answer = await text(response)
  if ((response.statusCode ?? 500) >= 400) throw new Error(`${method} ${path}: ${response.statusCode} ${answer}`)
  return answer === '' ? undefined : JSON.parse(answer)
}

async function createWorkspace(name: string) {
  const { data } = await api('POST', '/organizations/main/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  return data.id as string
}

function isInstalled(program: string) {
  const isFound = spawnSync('which', [program]).status === 0
  if (!isFound) console.warn(`SKIPPED: ${program} is not installed, so deploy/proxy/ is not tested with it`)
  return isFound
}

describe.each(['nginx', 'caddy', 'haproxy'] as const)('behind %s', (name) => {
  test.runIf(isInstalled(name))('bodies, streams, addresses and restarts pass through the shipped file', async () => {
    await startProxy(name)

    const workspace = await createWorkspace(name)
    const raw = stateOf(name)
    const stream = await send('GET', '/api/v2/organizations/main/changes', { headers: { accept: 'text/event-stream' } })
    await reads(stream, 'event: ready')
    const seen = reads(stream, 'state-versions')
    await api('POST', `/workspaces/${workspace}/actions/lock`, {})
    const { data: version } = await api('POST', `/workspaces/${workspace}/state-versions`, {
      data: {
        type: 'state-versions',
        attributes: { serial: 1, lineage: LINEAGE, md5: createHash('md5').update(raw).digest('hex') },
      },
    })
    const upload = new URL(version.attributes['hosted-state-upload-url'])
    const uploaded = await send('PUT', upload.pathname + upload.search, {
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(raw.length) },
      body: raw,
    })
    await text(uploaded)
    const { data: stored } = await api('GET', `/state-versions/${version.id}`)
    const download = new URL(stored.attributes['hosted-state-download-url'])
    const downloaded = await buffer(await send('GET', download.pathname + download.search))

    expect(upload.origin).toBe(`https://localhost:${port}`)
    expect(uploaded.statusCode).toBe(200)
    expect(downloaded.equals(raw)).toBe(true)
    await seen
    stream.destroy()

    const cookie = `other=${'x'.repeat(8000)}`
    const renamed = await send('PATCH', `/api/v2/workspaces/${workspace}`, {
      headers: { cookie, 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify({ data: { type: 'workspaces', attributes: { description: name } } }),
    })
    await text(renamed)
    const trail = await api('GET', `/admin/audit-trail?filter[resource][id]=${workspace}&filter[action]=update`)

    expect(renamed.statusCode).toBe(200)
    expect(trail.data[0].auth.address).toBe(CLIENT)

    // Not the origin of the base URL: the server compares it with the Host header, which needs the port.
    const attributes = { username: 'nobody', password: 'wrong' }
    const signIn = await send('POST', '/api/v2/sessions', {
      headers: { origin: `http://localhost:${port}` },
      body: JSON.stringify({ data: { type: 'sessions', attributes } }),
    })
    await text(signIn)
    expect(signIn.statusCode).toBe(401)

    await server.stop()
    const during = await send('GET', '/api/v2/ping')
    await text(during)
    await server.restart()
    await becomesReady()

    expect([during.statusCode, during.headers['retry-after']]).toEqual([503, '5'])
  })
})

const LINEAGE = '7d0c27a4-55d5-4e7c-9f1b-3c1f2c4a9e11'
const MB = 1_000_000

/** A state of 60 MB. */
function stateOf(salt: string) {
  const outputs = Array.from({ length: 60 }, (_, n) => [
    `o${n}`,
    { value: `${salt}${n}`.repeat(MB).slice(0, MB), type: 'string' },
  ])
  return Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial: 1,
      lineage: LINEAGE,
      outputs: Object.fromEntries(outputs),
      resources: [],
    }),
  )
}

/** Resolves when a stream has had `part`. */
async function reads(stream: IncomingMessage, part: string) {
  let seen = ''
  return new Promise<void>((resolve, reject) => {
    const onData = (data: Buffer) => {
      seen += data.toString()
      if (!seen.includes(part)) return
      stream.off('data', onData)
      resolve()
    }
    stream.on('data', onData)
    stream.once('close', () => reject(new Error(`the stream ended without ${part}: ${seen}`)))
  })
}

async function becomesReady() {
  await expect
    .poll(
      async () => {
        const response = await send('GET', '/readyz')
        response.resume()
        return response.statusCode
      },
      { timeout: 20_000, interval: RETRY_MS },
    )
    .toBe(200)
}
