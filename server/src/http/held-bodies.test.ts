import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { type RunSetting, createRunSetting } from '../testing/runs.ts'
import { rawState, stateClient } from '../testing/state-versions.ts'

const MB = 1024 * 1024
const app = await createTestApp()
const url = await app.listen()

/** Sends the beginning of a document, by default with an inline state, and returns the status of a response before its end, with `disconnect`. */
async function begin(
  { workspaceId, user }: RunSetting,
  megabytes: number,
  { path = 'state-versions', declared = 128 } = {},
) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const response: { status?: string | undefined } = {}
  socket.on('data', (data: Buffer) => (response.status ??= /^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1]))
  // A response that is followed by a reset of the connection may be lost.
  socket.on('close', () => (response.status ??= 'closed'))
  socket.write(
    `POST /api/v2/workspaces/${workspaceId}/${path} HTTP/1.1\r\nhost: localhost\r\n` +
      `authorization: Bearer ${user.token}\r\ncontent-type: application/vnd.api+json\r\ncontent-length: ${declared * MB}\r\n\r\n` +
      '{"data":{"attributes":{"state":"',
  )
  const chunk = Buffer.alloc(MB, 'A')
  for (let sent = 0; sent < megabytes && response.status === undefined; sent += 1)
    await new Promise((resolve) => socket.write(chunk, resolve))
  return Object.assign(() => response.status, { disconnect: () => socket.destroy() })
}

test('unfinished bodies of one caller take limited memory, and others can still send theirs', async () => {
  const [setting, other] = [await createRunSetting(app), await createRunSetting(app)]
  const before = process.memoryUsage.rss()

  const responses: (() => string | undefined)[] = []
  for (let number = 0; number < 6; number += 1) responses.push(await begin(setting, 60))

  await expect
    .poll(() => responses.map((status) => status() === undefined))
    .toEqual([true, true, true, false, false, false])
  expect(responses.map((status) => status())).toContain('429')
  expect((process.memoryUsage.rss() - before) / MB).toBeLessThan(400)
  const client = stateClient(app, { id: other.workspaceId, name: other.workspaceName }, other.user.token)
  await client.lock()
  expect((await client.post(rawState({ padding: MB }))).status).toBe(201)
})

test('with the memory for bodies taken, callers with few bytes are still served', async () => {
  const settings = [await createRunSetting(app), await createRunSetting(app), await createRunSetting(app)]
  const responses: (() => string | undefined)[] = []
  for (const setting of settings) for (const megabytes of [90, 90]) responses.push(await begin(setting, megabytes))
  const other = await createRunSetting(app)
  const client = stateClient(app, { id: other.workspaceId, name: other.workspaceName }, other.user.token)
  await client.lock()

  const small = await client.post(rawState({ padding: MB }))

  await expect
    .poll(() =>
      responses
        .slice(4)
        .map((status) => status())
        .join(),
    )
    .toMatch(/503|closed/)
  expect(small.status).toBe(201)
})

test('short documents count too', async () => {
  const setting = await createRunSetting(app)

  const begun = Array.from({ length: 200 }, async () => begin(setting, 1, { path: 'vars', declared: 2 }))
  const responses = await Promise.all(begun)

  await expect.poll(() => responses.filter((status) => status() !== undefined).length).toBeGreaterThan(5)
  expect(responses.filter((status) => status() === undefined).length).toBeGreaterThan(180)
})

test('the memory of bodies is released when their clients disconnect', async () => {
  const setting = await createRunSetting(app)

  const statuses: (string | undefined)[] = []
  for (let number = 0; number < 4; number += 1) {
    const status = await begin(setting, 90)
    statuses.push(status())
    status.disconnect()
  }

  expect(statuses).toEqual([undefined, undefined, undefined, undefined])
})
