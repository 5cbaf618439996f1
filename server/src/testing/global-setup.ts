import { randomBytes } from 'node:crypto'
import { access, constants, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '@groundstate/agent/process/process-id'
import type { TestProject } from 'vitest/node'
import { migrate } from '../db/migrate.ts'
import { installJobs } from '../jobs/jobs.ts'
import { startPostgres } from '../postgres/postgres.ts'
import { readPostmaster, stopPostmaster } from '../postgres/postmaster.ts'
import { databaseUrl, execute } from './database.ts'

const PREFIX = 'groundstate-tests-'
/** Linux's directory in memory, where cloning databases is several times faster than on a disk. */
const MEMORY = '/dev/shm'
/** Required free space there, in bytes; a test run uses about 200 MB. */
const REQUIRED_BYTES = 2 * 1024 ** 3

/**
 * Runs once per test run. It starts an embedded PostgreSQL, or uses the one in GROUNDSTATE_DATABASE_URL, and migrates
 * the template from which the databases of test files are cloned.
 */
export default async function setup(project: TestProject) {
  await using stack = new AsyncDisposableStack()
  await removeLeftOver()
  const directory = await mkdtemp(join((await hasRoom(MEMORY)) ? MEMORY : tmpdir(), `${PREFIX}${process.pid}-`))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const { url } = stack.use(await openServer(directory))
  const template = await createTemplate(url)
  stack.defer(async () => {
    await execute(url, `drop database if exists ${template} with (force)`)
  })
  project.provide('postgres', { adminUrl: url, template })
  project.provide('directory', directory)
  const disposables = stack.move()
  return () => disposables.disposeAsync()
}

async function openServer(dataDir: string): Promise<AsyncDisposable & { url: string }> {
  const external = process.env.GROUNDSTATE_DATABASE_URL
  if (external) return { url: external, async [Symbol.asyncDispose]() {} }

  // Only warnings belong among the test results.
  const log = { info: () => undefined, warn: (message: string) => console.warn(message) }
  const server = await startPostgres({ dataDir, log, fsync: false })
  // By default each connection plans a statement five times before it caches a plan, which is nearly always in tests.
  await execute(server.url, 'alter system set plan_cache_mode = force_generic_plan')
  await execute(server.url, 'select pg_reload_conf()')
  return server
}

async function hasRoom(directory: string) {
  try {
    await access(directory, constants.W_OK)
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize >= REQUIRED_BYTES
  } catch {
    return false
  }
}

async function createTemplate(adminUrl: string) {
  const { rows } = await execute(adminUrl, 'show server_version_num')
  const version = Number(rows[0].server_version_num)
  if (version < 150_000) throw new Error(`the tests need PostgreSQL 15 or later, this is ${version}`)

  const template = `groundstate_template_${randomBytes(8).toString('hex')}`
  await execute(adminUrl, `create database ${template}`)
  await migrate(databaseUrl(adminUrl, template))
  await installJobs(databaseUrl(adminUrl, template))
  return template
}

/** Other users on this machine clean up their own test runs. */
async function isOwn(directory: string) {
  const { uid } = await stat(directory).catch(() => ({ uid: undefined }))
  return uid === process.getuid?.()
}

/** A killed test run leaves its PostgreSQL running. */
async function removeLeftOver() {
  const places = [tmpdir(), MEMORY].map(async (directory) =>
    (await readdir(directory).catch(() => [])).map((name) => ({ name, dataDir: join(directory, name) })),
  )
  for (const { name, dataDir } of (await Promise.all(places)).flat()) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1])
    if (Number.isNaN(pid) || isAlive(pid) || !(await isOwn(dataDir))) continue
    const home = join(dataDir, 'postgres')
    const directories = { home, cluster: join(home, 'cluster'), log: join(dataDir, 'postgres.log') }
    const running = await readPostmaster(directories.cluster)
    if (running) await stopPostmaster(running.pid, directories)
    await rm(dataDir, { recursive: true, force: true })
  }
}
