import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pino } from 'pino'
import { createApp } from '../../../../app.ts'
import { SYSTEM } from '../../../../auth/actor.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { atEnd } from '../../../../testing/cleanup.ts'
import { REACTIONS } from '../../../list.ts'
import { startTaskDeliveries } from '../delivery-loop.ts'

const PROGRAM = join(import.meta.dirname, '../../../../../bin/groundstate.mjs')

/** A server in a separate process. */
export type Replica = { url: string; kill: () => Promise<void> }

/**
 * Starts a server on the database and the data directory of the app, with the secret of the tests and without an agent; stopped
 * when the test ends. `kill` ends it like a power failure.
 */
export async function startReplicaProcess(
  app: TestApp,
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<Replica> {
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      GROUNDSTATE_PORT: '0',
      GROUNDSTATE_DATA_DIR: app.config.dataDir,
      GROUNDSTATE_DATABASE_URL: databaseUrl,
      GROUNDSTATE_SECRET: '11'.repeat(32),
      GROUNDSTATE_AGENTS: '0',
      GROUNDSTATE_LOG_LEVEL: 'warn',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  atEnd(kill)
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    const onData = (data: Buffer) => {
      output += data.toString()
      const found = /ready at (https?:\/\/\S+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
    child.once('exit', (code) => reject(new Error(`the replica ended with ${code}:\n${output}`)))
  })
  return { url, kill }
}

/** Another replica in this process on the same database, which delivers requests until it is disposed. */
export async function startReplica(app: TestApp, databaseUrl: string, log = pino({ level: 'silent' })) {
  const options = { databaseUrl, baseUrl: app.baseUrl, log, runsJobs: false, reactions: REACTIONS }
  const replica = await createApp(app.config, options, { now: app.clock.now })
  const deliveries = startTaskDeliveries({ ...replica, actor: SYSTEM })
  return {
    async [Symbol.asyncDispose]() {
      await deliveries[Symbol.asyncDispose]()
      await replica[Symbol.asyncDispose]()
    },
  }
}
