import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { execute } from '../testing/database.ts'
import { findProcesses, parentAndGroupOf, filterRunning } from '../testing/processes.ts'
import { findFullDisk } from './directories.ts'
import { startPostgres } from './postgres.ts'
import { isPostmaster, readPostmaster, removeStale } from './postmaster.ts'

const isRoot = process.geteuid?.() === 0
const canUnshare = spawnSync('unshare', ['--pid', '--ipc', '--fork', '--mount-proc', 'true']).status === 0
if (!canUnshare) console.warn('SKIPPED: only root can start a server that does not see the processes of this one')
let dataDir: string
let messages: string[]
const log = {
  info: (message: string) => void messages.push(message),
  warn: (message: string) => void messages.push(message),
}

/** Creating a database takes most of a second, so later tests copy this one. */
let template: string
beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'groundstate-template-'))
  await (await startPostgres({ dataDir: template, log: { info() {}, warn() {} }, fsync: false }))[Symbol.asyncDispose]()
})
afterAll(() => rm(template, { recursive: true, force: true }))

function copyTemplate(directory = dataDir) {
  execFileSync('cp', ['-a', join(template, 'postgres'), directory])
}

beforeEach(async () => {
  messages = []
  dataDir = await mkdtemp(join(tmpdir(), 'groundstate postgres ü-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const start = (directory = dataDir) => startPostgres({ dataDir: directory, log, fsync: false })
const postmaster = (directory = dataDir) => readPostmaster(join(directory, 'postgres/cluster'))

async function value(url: string, sql: string) {
  const { rows } = await execute(url, sql)
  return Object.values(rows[0] ?? {})[0]
}

/**
 * Starts PostgreSQL in another process, which leads a process group; with `isContained` in one that sees no others, as in a container, and with
 * `isOutlived` in a container that does not end with that process.
 */
function startElsewhere({ isContained = false, isOutlived = false } = {}) {
  const module = new URL('./postgres.ts', import.meta.url).href
  const options = JSON.stringify({ dataDir, fsync: false })
  const script = `const { startPostgres } = await import('${module}')
    process.on('SIGINT', () => undefined)
    const { url } = await startPostgres({ ...${options}, log: console })
    setInterval(() => undefined, 1_000)
    process.stdout.write(url)`
  const container = isContained ? ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'] : []
  const init = isOutlived ? ['sh', '-c', '"$@" & wait; sleep 60', 'sh'] : []
  const [program, ...args] = [...container, ...init, process.execPath, '--input-type=module', '-e', script]
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return {
    child,
    /** The connection string, once PostgreSQL is ready. */
    url: async () => String((await once(child.stdout, 'data'))[0]),
    signalGroup: (signal: NodeJS.Signals) => process.kill(-(child.pid ?? Number.NaN), signal),
  }
}

describe('a server', () => {
  test('has a separate UTF-8 database on a local socket, as a user other than root', async () => {
    await using postgres = await start()

    expect(await value(postgres.url, 'select current_database()')).toBe('groundstate')
    expect(await value(postgres.url, 'show server_encoding')).toBe('UTF8')
    expect(await value(postgres.url, 'show listen_addresses')).toBe('')
    expect(await value(postgres.url, `select upper('ä')`)).toBe('Ä')
    const { pid = 0 } = (await postmaster()) ?? {}
    expect((await stat(`/proc/${pid}`)).uid).not.toBe(0)
  })

  test('writes safely unless configured otherwise', async () => {
    copyTemplate()
    await using postgres = await startPostgres({ dataDir, log })

    expect(await value(postgres.url, 'show fsync')).toBe('on')
    expect(await value(postgres.url, 'show synchronous_commit')).toBe('on')
    expect(await value(postgres.url, 'show full_page_writes')).toBe('on')
  })

  test('keeps its data over a restart, and leaves no process behind', async () => {
    copyTemplate()
    const first = await start()
    await execute(first.url, 'create table kept as select 7 as id')
    const { pid = 0 } = (await postmaster()) ?? {}
    await first[Symbol.asyncDispose]()

    expect(await isPostmaster(pid, join(dataDir, 'postgres/cluster'))).toBe(false)
    expect(await postmaster()).toBeUndefined()
    await using second = await start()
    expect(await value(second.url, 'select id from kept')).toBe(7)
  })

  test('works in a directory whose path is too long for a socket', async () => {
    const long = join(dataDir, 'x'.repeat(120))
    await chmod(dataDir, 0o711)
    await mkdir(long)
    copyTemplate(long)
    const postgres = await start(long)
    const { socketDirectory = '' } = (await postmaster(long)) ?? {}

    expect(await value(postgres.url, 'select 1')).toBe(1)
    expect((await stat(socketDirectory)).mode & 0o777).toBe(0o700)
    await postgres[Symbol.asyncDispose]()
    await expect(stat(socketDirectory)).rejects.toThrow('ENOENT')
  })

  test('starts again when PostgreSQL dies', async () => {
    copyTemplate()
    await using postgres = await start()
    const { pid = 0 } = (await postmaster()) ?? {}

    process.kill(pid, 'SIGKILL')

    await vi.waitFor(async () => expect(await value(postgres.url, 'select 1')).toBe(1), {
      timeout: 10_000,
      interval: 20,
    })
    expect((await postmaster())?.pid).not.toBe(pid)
  })
})

describe('a server in another process', () => {
  test('handles the signals of its process group itself', async () => {
    copyTemplate()
    const { child, url, signalGroup } = startElsewhere()
    const connection = await url()

    signalGroup('SIGINT')

    expect(await value(connection, 'select pg_sleep(0.2) is null')).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    // PostgreSQL writes its last files while it stops.
    await expect.poll(() => findProcesses(dataDir), { timeout: 10_000 }).toEqual([])
  })

  test('is killed, and its PostgreSQL stops', async () => {
    copyTemplate()
    const { child, url, signalGroup } = startElsewhere()
    await url()
    const processes = await findProcesses(dataDir)

    signalGroup('SIGKILL')
    await once(child, 'exit')

    await expect.poll(() => filterRunning(processes), { timeout: 10_000 }).toEqual([])
    expect(await postmaster()).toBeUndefined()
  })

  test('is killed during the creation of its database, and initdb stops', async () => {
    const { child, signalGroup } = startElsewhere()
    const creating = () => findProcesses(join(dataDir, 'postgres/cluster.new-'))
    await expect.poll(creating, { timeout: 10_000, interval: 5 }).not.toEqual([])
    const processes = await creating()

    signalGroup('SIGKILL')
    await once(child, 'exit')

    await expect.poll(() => filterRunning(processes), { timeout: 10_000 }).toEqual([])
  })
})

describe('a data directory', () => {
  test('left running by a killed server is stopped and restarted', async () => {
    copyTemplate()
    const { child, url, signalGroup } = startElsewhere()
    await execute(await url(), 'create table kept as select 7 as id')
    const { pid: left = 0 } = (await postmaster()) ?? {}
    const processes = await findProcesses(join(dataDir, 'postgres/cluster'))
    const parents = await Promise.all(processes.map(async (pid) => ({ pid, ...(await parentAndGroupOf(pid)) })))
    // A process that PostgreSQL has just forked is in its group, too.
    const guard = parents.find(({ pid, parent, group }) => group === left && pid !== left && parent !== left)
    process.kill(guard?.pid ?? Number.NaN, 'SIGKILL')
    signalGroup('SIGKILL')
    await once(child, 'exit')

    await using postgres = await start()

    expect((await postmaster())?.pid).not.toBe(left)
    expect(messages).toEqual([expect.stringContaining(`a killed server left (process ${left})`)])
    expect(await value(postgres.url, 'select id from kept')).toBe(7)
  })

  test('belongs to one server at a time, and the second one names the owner', async () => {
    copyTemplate()
    await using postgres = await start()

    await expect(start()).rejects.toThrow(`in use by another Groundstate server (process ${process.pid})`)

    expect(await value(postgres.url, 'select 1')).toBe(1)
  })

  test('that two servers open concurrently belongs to one of them', async () => {
    const results = await Promise.allSettled([start(), start()])

    const won = results.filter((result) => result.status === 'fulfilled')
    const lost = results.find((result) => result.status === 'rejected')
    expect(won).toHaveLength(1)
    expect(String(lost?.reason)).toContain('in use by another Groundstate server')
    await won[0]?.value[Symbol.asyncDispose]()
  })

  test.runIf(canUnshare)('belongs to one of several servers in containers that start at the same time', async () => {
    const children = Array.from({ length: 3 }, () => startElsewhere({ isContained: true }))
    onTestFinished(() => children.forEach(({ child }) => child.kill('SIGKILL')))
    const first = await Promise.any(children.map(async ({ url }) => url()))
    await expect.poll(() => children.filter(({ child }) => child.exitCode === 1), { timeout: 10_000 }).toHaveLength(2)

    await expect(start()).rejects.toThrow('in use by another Groundstate server (a process in another container)')
    expect(await value(first, 'select current_database()')).toBe('groundstate')
  })

  test.runIf(canUnshare)(
    'is free once the PostgreSQL of a killed server in another container has stopped',
    async () => {
      copyTemplate()
      const cluster = join(dataDir, 'postgres/cluster')
      const { child, url } = startElsewhere({ isContained: true, isOutlived: true })
      onTestFinished(() => void child.kill('SIGKILL'))
      await execute(await url(), 'create table kept as select 7 as id')
      const processes = await findProcesses(cluster)
      const isMain = await Promise.all(processes.map(async (pid) => isPostmaster(pid, cluster)))
      const main = processes.find((_, index) => isMain[index]) ?? Number.NaN
      const { parent } = await parentAndGroupOf(main)
      process.kill(main, 'SIGSTOP')
      process.kill(parent, 'SIGKILL')

      await expect(start()).rejects.toThrow('in use by another Groundstate server (a process in another container)')

      process.kill(main, 'SIGCONT')
      await using postgres = await start()
      expect(await filterRunning([main])).toEqual([])
      expect(await value(postgres.url, 'select id from kept')).toBe(7)
    },
  )

  test('of another major version is rejected and unchanged', async () => {
    const cluster = join(dataDir, 'postgres/cluster')
    await mkdir(cluster, { recursive: true })
    await writeFile(join(cluster, 'PG_VERSION'), '17\n')

    await expect(start()).rejects.toThrow(/created by PostgreSQL 17, but this is PostgreSQL 18; the data is unchanged/)

    expect(await readdir(cluster)).toEqual(['PG_VERSION'])
  })

  test('whose creation was interrupted is created again', async () => {
    const exited = spawn('true')
    await once(exited, 'exit')
    const partial = join(dataDir, `postgres/cluster.new-${exited.pid}-abcdef`)
    await mkdir(partial, { recursive: true })
    await writeFile(join(partial, 'PG_VERSION'), '18\n')

    await using postgres = await start()

    expect(await value(postgres.url, 'select 1')).toBe(1)
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('cluster'))).toEqual(['cluster'])
  })

  test.each([
    ['', true],
    [', and only the socket lock is left,', false],
  ])('whose recorded pid now belongs to another process%s is started', async (_, hasDataLock) => {
    copyTemplate()
    const account = await stat(join(dataDir, 'postgres/cluster'))
    const identity = isRoot ? { uid: account.uid, gid: account.gid } : {}
    const stranger = spawn('sleep', ['60'], identity)
    const cluster = join(dataDir, 'postgres/cluster')
    const lines = [stranger.pid, cluster, 1, 5432, join(dataDir, 'postgres'), '', '   1   1', 'ready   ', '']
    if (hasDataLock) await writeFile(join(cluster, 'postmaster.pid'), lines.join('\n'))
    await writeFile(join(dataDir, 'postgres/.s.PGSQL.5432.lock'), lines.slice(0, 5).join('\n'))

    await using postgres = await start()

    expect(await value(postgres.url, 'select 1')).toBe(1)
    stranger.kill()
  })

  test('whose process has just removed its own lock file is not a failure', async () => {
    const cluster = join(dataDir, 'postgres/cluster')
    await mkdir(cluster, { recursive: true })

    await removeStale(cluster, { pid: process.pid, socketDirectory: dataDir, status: 'starting' })

    expect(await readdir(cluster)).toEqual([])
  })
})

/** Mounting a small disk needs a right that containers often lack. */
function mountDisk(directory: string, size: string) {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('a full disk', () => {
  test.runIf(isRoot)('is named when the database is created, and no partial files are left', async ({ skip }) => {
    if (!mountDisk(dataDir, '8m')) skip('this system allows no mount')
    try {
      await expect(start()).rejects.toThrow(/the disk is full \(while creating the database\)/)

      expect(await readdir(join(dataDir, 'postgres'))).toEqual(['server.pid'])
    } finally {
      execFileSync('umount', [dataDir])
    }
  })

  test.runIf(isRoot)('is named when PostgreSQL starts', async ({ skip }) => {
    if (!mountDisk(dataDir, '100m')) skip('this system allows no mount')
    try {
      copyTemplate()
      await writeFile(join(dataDir, 'filler'), Buffer.alloc(100 * 1024 * 1024)).catch(() => undefined)

      await expect(start()).rejects.toThrow(/the disk is full/)
    } finally {
      execFileSync('umount', [dataDir])
    }
  })

  test.runIf(isRoot)(
    'is named once while PostgreSQL cannot start again, which it does once there is space',
    { timeout: 60_000 },
    async ({ skip }) => {
      if (!mountDisk(dataDir, '100m')) skip('this system allows no mount')
      try {
        copyTemplate()
        await using postgres = await start()
        const client = new pg.Client(postgres.url)
        client.on('error', () => {})
        await client.connect()
        const filler = join(dataDir, 'filler')
        await writeFile(filler, Buffer.alloc(100 * 1024 * 1024)).catch(() => undefined)

        // The write-ahead log needs another segment.
        await expect(
          client.query(`select pg_switch_wal(), pg_logical_emit_message(true, '', repeat('x', 20000000))`),
        ).rejects.toThrow(/No space left on device|Connection terminated/)
        await expect.poll(async () => messages.at(-1), { timeout: 20_000 }).toContain(`the disk of ${dataDir}`)
        const full = await findFullDisk({ databaseUrl: undefined, dataDir })
        await rm(filler)

        await expect.poll(async () => messages.at(-1), { timeout: 20_000 }).toContain('runs again')
        expect(await value(postgres.url, 'select 1')).toBe(1)
        expect(full).toBe(join(dataDir, 'postgres'))
        expect(await findFullDisk({ databaseUrl: undefined, dataDir })).toBeUndefined()
        // PostgreSQL may hang without its startup process, until it is stopped.
        expect(messages.filter((message) => !message.startsWith('waiting'))).toEqual([
          'lost the connection to the embedded PostgreSQL; restarting it',
          expect.stringMatching(/^the embedded PostgreSQL cannot start: the disk of .* is full/),
          'the embedded PostgreSQL runs again',
        ])
      } finally {
        execFileSync('umount', [dataDir])
      }
    },
  )
})

test('a large log is rotated', async () => {
  copyTemplate()
  const path = join(dataDir, 'postgres.log')
  await writeFile(path, Buffer.alloc(9 * 1024 * 1024, 'x'))

  await using postgres = await start()

  expect(await value(postgres.url, 'select 1')).toBe(1)
  expect((await readFile(path, 'utf8')).length).toBeLessThan(100_000)
  expect((await stat(`${path}.1`)).size).toBe(9 * 1024 * 1024)
})

test('many clients can connect', async () => {
  copyTemplate()
  await using postgres = await start()
  const pool = new pg.Pool({ connectionString: postgres.url, max: 80 })
  // `end` returns before every server process has exited: PostgreSQL may end some of them when it stops.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})

  const responses = await Promise.all(Array.from({ length: 80 }, () => pool.query('select 1')))

  expect(responses).toHaveLength(80)
  await pool.end()
})
