import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { Header } from 'tar'
import { request } from 'undici'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createS3Server } from '../../../blobs/testing/s3-server.ts'
import { transact } from '../../../db/db.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { atEnd } from '../../../testing/cleanup.ts'
import { allowIdle, databaseUrl } from '../../../testing/database.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  createConfigurationVersion,
  createRun,
  createRunSetting,
  put,
  readRun,
  uploadConfiguration,
} from '../../../testing/runs.ts'
import { download, md5, rawState, stateClient, upload } from '../../../testing/state-versions.ts'
import { expireArchives, sweepArchives } from '../../runs/configuration-versions/jobs.ts'
import { expirePlans } from '../../runs/plans/jobs.ts'
import { sweepOrphans } from '../../states/state-versions/jobs.ts'
import { startReplicaProcess } from '../../tasks/task-results/testing/replica.ts'

/** Blobs whose server is killed before the row that names them commits, as by a power failure, and blobs deleted while they are read. */

const DAY_MS = 86_400_000
const signal = new AbortController().signal
const s3 = await createS3Server()
atEnd(() => s3[Symbol.asyncDispose]())
const { endpoint, bucket, accessKeyId, secretAccessKey } = s3.config
const BUCKET = {
  GROUNDSTATE_S3_ENDPOINT: endpoint,
  GROUNDSTATE_S3_BUCKET: bucket,
  GROUNDSTATE_S3_ACCESS_KEY_ID: accessKeyId,
  GROUNDSTATE_S3_SECRET_ACCESS_KEY: secretAccessKey,
}
/** Large enough for an upload in parts. */
const archive = largeArchive()
/** Larger than the buffers of a connection, and not compressible. */
const LARGE_TEXT = randomBytes(15 * 1024 * 1024).toString('base64')
const state = rawState({ resources: ['one'], padding: 2_000_000 })

function largeArchive() {
  const content = randomBytes(20 * 1024 * 1024)
  const header = Buffer.alloc(512)
  new Header({ path: 'large', type: 'File', mode: 0o644, size: content.length }).encode(header)
  return gzipSync(Buffer.concat([header, content, Buffer.alloc(1024)]), { level: 0 })
}

async function blobsOf(app: TestApp, prefix: string) {
  const all: string[] = []
  for await (const { keys } of app.blobs.list(prefix)) all.push(...keys)
  return all
}

describe.each([
  ['disk', {}],
  ['a bucket', BUCKET],
])('on %s', async (_, settings: Record<string, string>) => {
  const app = await createTestApp(settings)
  const origin = app.listen()
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const database = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')

  /** Sends `content` to a server that is killed once the blob is stored: the workspace is locked, so its transaction waits. */
  async function killAfterBlob(workspaceId: string, url: string, content: Buffer, prefix: string) {
    const server = await startReplicaProcess(app, database, settings)
    await transact(app.as(), async (ctx) => {
      await allowIdle(ctx.db)
      await sql`select from workspaces where id = ${workspaceId} for update`.execute(ctx.db)
      const sent = request(`${server.url}${new URL(url).pathname}`, { method: 'PUT', body: content }).catch(() => 'cut')
      await expect.poll(async () => (await blobsOf(app, prefix)).length).toBe(1)
      await server.kill()
      // PostgreSQL would finish the statement on which the server was waiting.
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'`.execute(ctx.db)
      expect(await sent).toBe('cut')
    })
  }

  // A whole server starts in each: on a busy machine, that alone takes most of the default timeout.
  test('an archive without a row is not used, is uploaded again, and is swept', { timeout: 60_000 }, async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    const prefix = `configurations/${version.id}`
    const read = async () =>
      app.request({ url: `/api/v2/configuration-versions/${version.id}`, token: setting.user.token })

    await killAfterBlob(setting.workspaceId, version.attributes['upload-url'], archive, prefix)
    const killed = (await read()).json().data.attributes.status
    const repeated = await put(app, version.attributes['upload-url'], archive)
    app.clock.advance(3 * DAY_MS)
    const swept = await sweepArchives(app.as(), signal)

    expect([killed, repeated.status, swept]).toEqual(['pending', 200, 1])
    const { bytes } = await app.request({ url: `${version.links.self}/download`, token: setting.user.token })
    expect(bytes.equals(archive)).toBe(true)
  })

  test('a state without a row is not used, is uploaded again, and is swept', { timeout: 60_000 }, async () => {
    const { user, workspaceId, workspaceName } = await createRunSetting(app)
    const client = stateClient(app, { id: workspaceId, name: workspaceName }, user.token)
    await client.lock()
    const { id, attributes } = await client.create(state, { state: undefined, md5: md5(state) })
    const url = attributes['hosted-state-upload-url']

    await killAfterBlob(workspaceId, url, state, `state-versions/${id}`)
    const killed = (await client.show(id)).attributes.status
    const repeated = await upload(app, url, state)
    app.clock.advance(3 * DAY_MS)
    const swept = await sweepOrphans(app.as(), signal)

    expect([killed, repeated.status, swept]).toEqual(['pending', 200, 1])
    const { bytes } = await download(app, (await client.show(id)).attributes['hosted-state-download-url'])
    expect(bytes.equals(state)).toBe(true)
  })

  /** Starts a download, deletes all content while most of it is unread, and returns the content that arrives. */
  async function readWhileDeleted(
    url: string,
    token: string | undefined,
    prefix: string,
    remove: () => Promise<unknown>,
  ) {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { statusCode, body } = await request(`${await origin}${new URL(url, app.baseUrl).pathname}`, { headers })
    const chunks: Buffer[] = []
    for await (const chunk of body) {
      if (chunks.length === 0) await remove()
      chunks.push(chunk as Buffer)
    }
    expect([statusCode, await blobsOf(app, prefix)]).toEqual([200, []])
    return Buffer.concat(chunks)
  }

  test('an archive that expires while it is downloaded arrives whole', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    await put(app, version.attributes['upload-url'], archive)
    await uploadConfiguration(app, setting)
    app.clock.advance(100 * DAY_MS)

    const path = `${version.links.self}/download`
    const read = await readWhileDeleted(path, setting.user.token, `configurations/${version.id}`, async () =>
      expireArchives(app.as(), signal),
    )

    expect(read.equals(archive)).toBe(true)
  })

  test('a state that is deleted permanently while it is downloaded arrives whole', async () => {
    const { user, workspaceId, workspaceName } = await createRunSetting(app)
    const client = stateClient(app, { id: workspaceId, name: workspaceName }, user.token)
    await client.lock()
    const large = Buffer.from(
      rawState({ resources: ['one'] })
        .toString()
        .replace('"input": ""', `"input": "${LARGE_TEXT}"`),
    )
    const { id, attributes } = await client.create(large, { state: undefined })
    await upload(app, attributes['hosted-state-upload-url'], large)
    await client.create(rawState({ serial: 2 }))
    const url = (await client.show(id)).attributes['hosted-state-download-url']

    const read = await readWhileDeleted(url, undefined, `state-versions/${id}`, async () => {
      for (const action of ['soft_delete_backing_data', 'permanently_delete_backing_data'])
        await client.action(id, action)
    })

    expect(read.equals(large)).toBe(true)
  })

  test('a plan that expires while it is downloaded arrives whole', async () => {
    const setting = await createRunSetting(app)
    const agent = await createFakeAgent(app)
    const json = JSON.stringify({ format_version: '1.2', text: LARGE_TEXT })
    const id = await createRun(app, setting)
    const job = await agent.take()
    await job.put('plan-json', json)
    await job.finish({ hasChanges: false })
    await createRun(app, setting)
    await (await agent.take()).finish({ hasChanges: false })
    app.clock.advance(100 * DAY_MS)

    const plan = (await readRun(app, setting, id)).relationships.plan.data.id
    const path = `/api/v2/plans/${plan}/json-output`
    const read = await readWhileDeleted(path, setting.user.token, `runs/${id}`, async () =>
      expirePlans(app.as(), signal),
    )

    expect(read.toString() === json).toBe(true)
  })
})

test('a state that is deleted permanently just before its download begins is not found, and cannot be rolled back to', async () => {
  const app = await createTestApp(BUCKET)
  const { user, workspaceId, workspaceName } = await createRunSetting(app)
  const client = stateClient(app, { id: workspaceId, name: workspaceName }, user.token)
  await client.lock()
  const ids: string[] = []
  for (const serial of [1, 2, 3, 4]) {
    const { id } = await client.create(rawState({ serial, resources: ['one'], padding: 2_000_000 }))
    ids.push(id)
  }
  const [first = '', second = '', third = ''] = ids
  const url = (await client.show(first)).attributes['hosted-state-download-url']
  s3.hooks.onRead = async (key) => {
    const id = key.split('/')[1] ?? ''
    for (const action of ['soft_delete_backing_data', 'permanently_delete_backing_data'])
      await client.action(id, action)
  }
  onTestFinished(() => void delete s3.hooks.onRead)

  const responses = [
    await download(app, url),
    await client.request('GET', `/state-versions/${second}/diff`),
    await client.rollBack(third),
  ]

  expect(responses.map(({ status }) => status)).toEqual([404, 422, 422])
})
