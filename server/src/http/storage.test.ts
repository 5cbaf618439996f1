import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createS3Server } from '../blobs/testing/s3-server.ts'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { lockedWorkspace, rawState } from '../testing/state-versions.ts'

test('an unavailable object store is a 503 with the time of the next attempt, and a later attempt succeeds', async () => {
  const s3 = await createS3Server()
  onTestFinished(() => s3[Symbol.asyncDispose]())
  const app = await createTestApp({
    GROUNDSTATE_S3_ENDPOINT: s3.config.endpoint,
    GROUNDSTATE_S3_BUCKET: s3.config.bucket,
    GROUNDSTATE_S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    GROUNDSTATE_S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
  })
  const user = await createUser(app)
  const { name } = await createOrganization(app, user)
  const workspace = await lockedWorkspace(app, name, user)
  // Not compressible, and too large for a row.
  const state = rawState({ outputs: { text: randomBytes(300_000).toString('base64') } })
  s3.faults.push(...Array.from({ length: 5 }, () => 'unavailable' as const))

  const refused = await workspace.post(state)
  const accepted = await workspace.post(state)

  expect(refused.status).toBe(503)
  expect(refused.json().errors[0].detail).toBe('the object store is unavailable, try again later')
  expect(refused.headers['retry-after']).toBe('1')
  expect(accepted.status).toBe(201)
})
