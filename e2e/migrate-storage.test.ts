import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createS3Server } from '../server/src/blobs/testing/s3-server.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { type BootedServer, bootServer, endOf } from './server.ts'
import { localWorkspace, rawState, storeState } from './stored-states.ts'

/** Moves of all blobs between disk and a bucket while a server is written to, with the command killed in between. */

const GROUNDSTATE = join(import.meta.dirname, '../server/bin/groundstate')
const AGENTS = { GROUNDSTATE_AGENTS: '0' }

function start(args: readonly string[], settings: Record<string, string>) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings }
  const child = spawn(GROUNDSTATE, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output.text += String(data)))
  return { child, output }
}

async function groundstate(args: readonly string[], settings: Record<string, string>) {
  const { child, output } = start(args, settings)
  await endOf(child)
  return { code: child.exitCode, text: output.text }
}

async function migrate(to: string, settings: Record<string, string>) {
  return groundstate(['migrate-storage', '--to', to], settings)
}

const digest = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

test('blobs move to a bucket and back, under writes and kills, and nothing is lost', { timeout: 180_000 }, async () => {
  const s3 = await createS3Server()
  atEnd(() => s3[Symbol.asyncDispose]())
  const bucket = {
    GROUNDSTATE_S3_ENDPOINT: s3.config.endpoint,
    GROUNDSTATE_S3_BUCKET: s3.config.bucket,
    GROUNDSTATE_S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
  }
  const first = await bootServer(AGENTS)
  const data = { GROUNDSTATE_DATA_DIR: first.dataDir }
  const both = { ...data, ...bucket }
  const workspaceId = await localWorkspace(first, 'moved')
  const acknowledged = new Map<string, string>()
  let serial = 0
  /** Stores states that are too large for rows. */
  const write = async (server: BootedServer, count: number) => {
    for (let n = 0; n < count; n += 1) {
      serial += 1
      const raw = rawState({
        serial,
        resources: [{ name: 'one', attributes: { input: randomBytes(250_000).toString('base64') } }],
      })
      acknowledged.set(await storeState(server, workspaceId, raw), digest(raw))
    }
  }
  const missing = async (server: BootedServer) => {
    const found: string[] = []
    for (const [id, sum] of acknowledged) {
      const { data: version } = await server.api('GET', `/state-versions/${id}`)
      const response = await fetch(version.attributes['hosted-state-download-url'])
      if (digest(Buffer.from(await response.arrayBuffer())) !== sum) found.push(`${id}: ${response.status}`)
    }
    return found
  }
  const copies = () => [...s3.objects.keys()].filter((key) => key.includes('/')).length

  const backups = await mkdtemp(join(tmpdir(), 'groundstate-moved-'))
  atEnd(async () => rm(backups, { recursive: true }))
  await write(first, 12)
  expect(await groundstate(['backup', backups], data)).toMatchObject({ code: 0 })
  const killed = start(['migrate-storage', '--to', 's3'], both)
  const writing = write(first, 4)
  await expect.poll(copies, { timeout: 30_000, interval: 1 }).toBeGreaterThan(0)
  killed.child.kill('SIGKILL')
  await endOf(killed.child)
  await writing
  expect(await migrate('s3', both)).toEqual({ code: 0, text: expect.stringContaining('Now stop all servers') })
  await write(first, 1)
  await first.stop()

  const onBucket = await bootServer({ ...AGENTS, ...both })
  await write(onBucket, 1)
  expect(await missing(onBucket)).toEqual([])
  const rotate = async () => groundstate(['rotate-secret'], both)
  const moving = `blobs are being moved to the bucket ${s3.config.bucket}`
  expect(await groundstate(['backup', backups], both)).toEqual({
    code: 1,
    text: expect.stringContaining(moving),
  })
  expect(await rotate()).toEqual({ code: 1, text: expect.stringContaining(moving) })
  expect(await migrate('s3', both)).toEqual({ code: 0, text: expect.stringContaining('All blobs are moved') })
  expect(copies()).toBeGreaterThanOrEqual(acknowledged.size)
  expect((await migrate('s3', both)).text).toContain('already')
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining('Nothing is encrypted with another secret') })
  expect(await migrate('disk', both)).toEqual({ code: 1, text: expect.stringContaining('holds other blobs') })
  await onBucket.stop()
  const moved = `the blobs of the database were moved from the directory ${join(first.dataDir, 'blobs')}`
  await expect(bootServer({ ...AGENTS, ...data })).rejects.toThrow(moved)
  expect((await groundstate(['backup', backups], data)).text).toContain(`to the bucket ${s3.config.bucket}`)
  expect(await groundstate(['backup', backups], both)).toEqual({
    code: 1,
    text: expect.stringContaining(`and the blobs are now in the bucket ${s3.config.bucket}`),
  })
  await rename(join(first.dataDir, 'blobs'), join(first.dataDir, 'blobs.old'))

  const toDisk = { ...both, GROUNDSTATE_BLOB_STORE: 'disk' }
  expect(await migrate('disk', both)).toEqual({ code: 0, text: expect.stringContaining('GROUNDSTATE_BLOB_STORE=disk') })
  await expect(bootServer({ ...AGENTS, ...data })).rejects.toThrow('keep both configured until')
  const onDisk = await bootServer({ ...AGENTS, ...toDisk })
  await write(onDisk, 1)
  expect((await migrate('disk', toDisk)).text).toContain('All blobs are moved')
  await onDisk.stop()
  s3.objects.clear()
  const last = await bootServer({ ...AGENTS, ...data })
  expect(await missing(last)).toEqual([])
})
