import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { findSystemAccount } from '../../server/src/postgres/account.ts'
import { findBinaries } from '../../server/src/postgres/binaries.ts'
import { freePort } from '../../server/src/testing/ports.ts'
import { bootProgram } from './program.ts'

/** Programs of PostgreSQL 15, the oldest version that is supported, as Debian installs them. */
const OLDEST = '/usr/lib/postgresql/15/bin'

/** An external PostgreSQL: a process of this machine that can be killed and restarted, with a database for the server; `settings` are PostgreSQL's, `files` are written into its directory. */
export async function bootDatabase(
  directory: string,
  more: { settings?: Record<string, string>; files?: Record<string, string> } = {},
) {
  const account = await findSystemAccount()
  const isOldest = existsSync(join(OLDEST, 'initdb'))
  if (!isOldest)
    console.warn(`POSTGRESQL 15 IS NOT INSTALLED (${OLDEST}): the embedded version is the external database`)
  const embedded = isOldest ? undefined : await findBinaries(account, directory)
  const program = (name: 'initdb' | 'postgres') => embedded?.[name] ?? join(OLDEST, name)
  const identity = account.switch ? { uid: account.uid, gid: account.gid } : {}
  const options = { cwd: '/', env: { PATH: process.env['PATH'], LC_ALL: 'C' }, ...identity }

  const data = join(directory, 'database')
  await mkdir(data, { mode: 0o700 })
  if (account.switch) await chown(data, account.uid, account.gid)
  const flags = ['-U', 'groundstate', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(program('initdb'), ['-D', data, ...flags], { ...options, stdio: 'pipe' })

  for (const [name, text] of Object.entries(more.files ?? {})) {
    const file = join(data, name)
    await writeFile(file, text, { mode: 0o600 })
    if (account.switch) await chown(file, account.uid, account.gid)
  }

  const port = await freePort()
  // The machine does not crash, so that nothing needs to be synced.
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 60,
    ...more.settings,
  }
  const server = await bootProgram({
    name: 'PostgreSQL',
    command: [
      program('postgres'),
      '-D',
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    options,
    ready: 'database system is ready to accept connections',
    signal: 'SIGQUIT',
  })

  const client = new pg.Client({ host: '127.0.0.1', port, user: 'groundstate', database: 'postgres' })
  await client.connect()
  await client.query('create database groundstate')
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  await client.end()
  return { process: server, port, version: rows[0]?.server_version ?? '' }
}
