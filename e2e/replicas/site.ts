import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFile, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../../server/src/testing/cleanup.ts'
import { freePort } from '../../server/src/testing/ports.ts'
import { bootAgent } from '../agent.ts'
import { createLink, type Link } from '../links.ts'
import { agentPool } from '../remote-workspaces.ts'
import { until } from '../run-progress.ts'
import { type BootedServer, bootServer, endOf } from '../server.ts'
import type { Process } from '../supervisor.ts'
import { bootDatabase } from './database.ts'
import { bootProgram } from './program.ts'

const CREDENTIALS = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret' }

/** A process that faults hit, and its links, by the name of the other end. */
export type Target = { process: Process; links: Record<string, Link> }

export type Site = {
  directory: string
  /** Sends requests through the load balancer. */
  server: BootedServer
  /** The servers, for requests that choose one. */
  replicas: { name: string; url: string }[]
  pool: { id: string; token: string }
  receiver: { url: string; journal: string; link: Link }
  targets: Record<string, Target>
  agents: { workDir: string; pid: number }[]
  /** For the report: `PostgreSQL 15.3, stand-in bucket`. */
  description: string
}

type Options = { replicas: number; agents: number; leaseMs: number; bucket: string }

/**
 * Servers behind a load balancer, on an external PostgreSQL and a bucket, with agents and a receiver: all are processes, and
 * connected by links. The links of the load balancer and of each server, agent and the receiver can be cut.
 */
export async function bootSite({
  replicas: count,
  agents: agentCount,
  leaseMs,
  bucket: store,
}: Options): Promise<Site> {
  const directory = await mkdtemp(join(tmpdir(), 'gs-replicas-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)

  const [database, bucket, receiver] = await Promise.all([
    bootDatabase(directory),
    store === 'weed' ? bootSeaweed(directory) : bootBucket(directory),
    bootReceiver(directory),
  ])
  const targets: Record<string, Target> = {
    database: { process: database.process, links: {} },
    bucket: { process: bucket.process, links: {} },
    receiver: { process: receiver.process, links: { servers: receiver.link } },
  }

  const names = Array.from({ length: count }, (_, index) => `s${index + 1}`)
  const ports = await Promise.all(names.map(async () => freePort()))
  const fronts = await Promise.all(ports.map(createLink))
  const balancerPort = await bootBalancer(fronts.map(({ port }) => `http://127.0.0.1:${port}/readyz`))
  const url = `http://127.0.0.1:${balancerPort}`
  const secret = randomBytes(32).toString('hex')

  const servers: BootedServer[] = []
  for (const [index, name] of names.entries()) {
    const [toDatabase, toBucket] = [await createLink(database.port), await createLink(bucket.port)]
    const settings = {
      GROUNDSTATE_BASE_URL: url,
      GROUNDSTATE_SECRET: secret,
      GROUNDSTATE_DATABASE_URL: `postgresql://groundstate@127.0.0.1:${toDatabase.port}/groundstate?sslmode=disable`,
      GROUNDSTATE_S3_ENDPOINT: `http://127.0.0.1:${toBucket.port}`,
      GROUNDSTATE_S3_BUCKET: 'blobs',
      GROUNDSTATE_S3_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      GROUNDSTATE_S3_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      GROUNDSTATE_AGENTS: '0',
      GROUNDSTATE_LEASE: String(leaseMs),
      GROUNDSTATE_TRIGGER_DELAY: '500',
      GROUNDSTATE_RUN_TASK_TIMEOUT: '180000',
      GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
    }
    const server = await bootServer(settings, { port: ports[index] ?? 0 })
    servers.push(server)
    const front = fronts[index] as Link
    const links = { database: toDatabase, bucket: toBucket, balancer: front }
    targets[name] = { process: logged(server, name), links }
  }
  const [server] = servers as [BootedServer]
  await until(async () => server.api('GET', '/organizations/main').catch(() => undefined))

  const pool = await agentPool(server, 'chaos')
  const agents = await Promise.all(
    Array.from({ length: agentCount }, async (_, index) => {
      const name = `a${index + 1}`
      const workDir = join(directory, name)
      await mkdir(workDir)
      const link = await createLink(balancerPort)
      const settings = { GROUNDSTATE_CONCURRENCY: '2' }
      const agent = bootAgent({ url: `http://127.0.0.1:${link.port}`, token: pool.token, name, workDir, settings })
      targets[name] = { process: agent, links: { balancer: link } }
      return agent
    }),
  )
  const replicas = names.map((name, index) => ({ name, url: `http://127.0.0.1:${ports[index]}` }))
  const description = `PostgreSQL ${database.version}, ${bucket.description}, ${count} servers, ${agentCount} agents`
  return { directory, server, replicas, pool, receiver, targets, agents, description }
}

/** A server whose log is written to `GROUNDSTATE_CHAOS_LOGS`, if that is set: a restart and the end of the file would lose it. */
function logged(server: BootedServer, name: string): Process {
  const logs = process.env['GROUNDSTATE_CHAOS_LOGS']
  if (logs === undefined) return server
  const save = async () => appendFile(join(logs, `${name}.log`), server.output())
  atEnd(save)
  return {
    get pid() {
      return server.pid
    },
    ended: server.ended,
    async restart() {
      await save()
      await server.restart()
    },
  }
}

const program = (name: string) => join(import.meta.dirname, name)

async function bootBucket(directory: string) {
  const port = await freePort()
  const objects = join(directory, 'objects')
  const command = [process.execPath, program('bucket-program.ts'), String(port), objects] as const
  return {
    process: await bootProgram({ name: 'the bucket', command, ready: 'the bucket is ready' }),
    port,
    description: 'the stand-in bucket',
  }
}

/** A real object store; `weed` must be on the PATH. */
async function bootSeaweed(directory: string) {
  const port = await freePort()
  const data = join(directory, 'seaweed')
  await mkdir(data)
  const config = join(directory, 's3.json')
  const identity = {
    name: 'groundstate',
    credentials: [{ accessKey: CREDENTIALS.accessKeyId, secretKey: CREDENTIALS.secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  }
  await writeFile(config, JSON.stringify({ identities: [identity] }))
  const [master, volume, filer] = [await freePort(), await freePort(), await freePort()]
  const flags = { dir: data, ip: '127.0.0.1', 's3.port': port, 's3.config': config, 'volume.max': 20 }
  const ports = { 'master.port': master, 'volume.port': volume, 'filer.port': filer, 'master.volumeSizeLimitMB': 64 }
  const list = Object.entries({ ...flags, ...ports }).map(([name, value]) => `-${name}=${value}`)
  const store = await bootProgram({
    name: 'SeaweedFS',
    command: ['weed', 'server', '-s3', ...list],
    ready: 'Start Seaweed S3 API Server',
  })
  const shell = ['shell', `-master=127.0.0.1:${master}`, `-filer=127.0.0.1:${filer}`]
  await until(async () => {
    execFileSync('weed', shell, { input: 's3.bucket.create -name blobs\n', stdio: ['pipe', 'ignore', 'ignore'] })
    const listed = execFileSync('weed', shell, { input: 's3.bucket.list\n', stdio: ['pipe', 'pipe', 'ignore'] })
    return listed.includes('blobs')
  })
  const [version] = execFileSync('weed', ['version']).toString().split('\n')
  return { process: store, port, description: `SeaweedFS ${version}` }
}

async function bootReceiver(directory: string) {
  const port = await freePort()
  const journal = join(directory, 'receiver.jsonl')
  const command = [process.execPath, program('receiver-program.ts'), String(port), journal] as const
  const receiver = await bootProgram({ name: 'the receiver', command, ready: 'the receiver is ready' })
  const link = await createLink(port)
  return { process: receiver, url: `http://127.0.0.1:${link.port}`, journal, link }
}

/** Starts the load balancer and returns its port. */
/** A load balancer in front of servers, by the addresses of their health checks; returns its port. */
export async function bootBalancer(backends: string[]): Promise<number> {
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, '../balancer.ts'), '127.0.0.1', '0', ...backends],
    // Other tests may keep the processors busy.
    { env: { ...process.env, CHECK_TIMEOUT_MS: '3000' }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  atEnd(async () => {
    child.kill('SIGKILL')
    await endOf(child)
  })
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => resolve(Number(/port (\d+)/.exec(data.toString())?.[1])))
    child.once('exit', (code) => reject(new Error(`the balancer ended with ${code}`)))
  })
}
