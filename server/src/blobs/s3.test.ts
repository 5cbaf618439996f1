import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { newId } from '../ids.ts'
import { createBlobs } from './blobs.ts'
import { BlobExistsError, BlobStoreUnavailableError } from './errors.ts'
import { staticCredentials } from './s3-credentials.ts'
import type { S3Config } from './s3.ts'
import { describeBlobs } from './testing/driver-suite.ts'
import { createS3Server } from './testing/s3-server.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const MB = 1024 * 1024
const secret = randomBytes(32)

describeBlobs('s3', async (secret) => {
  const server = await createS3Server()
  const store = { kind: 's3' as const, ...server.config, prefix: 'ground state/' }
  const blobs = await createBlobs({ secret, store })
  return {
    blobs,
    reopen: async (other, previousSecrets = []) => createBlobs({ secret: other, previousSecrets, store }),
    async damage(key, change) {
      const object = server.objects.get(`ground state/${key}`)
      if (object) object.body = change(object.body)
    },
    leftovers: async () => server.uploads.size,
    async close() {
      await blobs[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
})

async function openStore(options: Partial<S3Config> = {}) {
  const server = await createS3Server()
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, blobs: await createBlobs({ secret, store: { kind: 's3', ...server.config, ...options } }) }
}

test('sealed content above 16 MB is uploaded in parts', async () => {
  const { server, blobs } = await openStore()

  await blobs.put('small', randomBytes(15 * MB))
  const single = server.requests.length
  await blobs.put('large', randomBytes(33 * MB))

  expect(server.requests.slice(0, single).map(withoutQuery)).toEqual(['HEAD /blobs/small', 'PUT /blobs/small'])
  expect(server.requests.slice(single).map(withoutQuery)).toEqual([
    'HEAD /blobs/large',
    'POST /blobs/large',
    'PUT /blobs/large',
    'PUT /blobs/large',
    'PUT /blobs/large',
    'POST /blobs/large',
  ])
})

function withoutQuery(request: string) {
  return request.replace(/\?.*/, '')
}

test.each(['unavailable', 'unsupported', 'cut-before', 'cut-after'] as const)(
  'a put survives a fault: %s',
  async (fault) => {
    const { server, blobs } = await openStore()
    const [small, large] = [randomBytes(1000), randomBytes(17 * MB)]

    server.faults.push('none', fault)
    await blobs.put('small', small)
    server.faults.push('none', 'none', 'none', 'none', fault)
    await blobs.put('large', large)

    expect(await blobs.read('small')).toEqual(small)
    expect((await blobs.read('large')).equals(large)).toBe(true)
  },
)

test('parts that a killed process left are deleted after a day, and not while an upload may still be running', async () => {
  const { server, blobs } = await openStore()
  const signal = new AbortController().signal
  const key = `runs/${newId('run')}/${newId('job')}/plan-file`
  server.uploads.set('left', { key, initiatedAt: new Date(), headers: {}, parts: new Map() })

  await blobs.settle(new Date(Date.now() + 23 * 3_600_000), signal)
  const early = server.uploads.size
  await blobs.settle(new Date(Date.now() + 25 * 3_600_000), signal)

  expect([early, server.uploads.size]).toEqual([1, 0])
})

test('abandoned uploads of other applications in the bucket stay, and those listed after them are deleted', async () => {
  const { server, blobs } = await openStore()
  const begun = (key: string) => ({ key, initiatedAt: new Date(), headers: {}, parts: new Map() })
  const foreign = Array.from({ length: 250 }, (_, n) => `backups/db-${n}.dump`)
  for (const key of [...foreign, 'Ünicode', 'runs/nightly/report']) server.uploads.set(key, begun(key))
  for (const id of ['first', 'second']) server.uploads.set(id, begun(`state-versions/${newId('sv')}/raw-${id}`))

  await blobs.settle(new Date(Date.now() + 25 * 3_600_000), new AbortController().signal)

  expect([...server.uploads.keys()]).toEqual([...foreign, 'Ünicode', 'runs/nightly/report'])
})

test('a put that loses a race between its check and its write fails, and the other blob stays', async () => {
  const { server, blobs } = await openStore()
  const results = await Promise.allSettled([randomBytes(18 * MB), randomBytes(17 * MB)].map((c) => blobs.put('k', c)))

  const [reason] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(reason).toBeInstanceOf(BlobExistsError)
  expect(server.uploads.size).toBe(0)
})

test('a request without a response is repeated, even if the garbage collector has run meanwhile', async () => {
  const { server, blobs } = await openStore({ responseTimeoutMs: 1000 })
  server.faults.push('none', 'silent')

  const putting = blobs.put('k', Buffer.from('x'))
  await expect.poll(() => server.requests.length).toBe(2)
  collectGarbage()
  await putting

  expect(server.requests.map(withoutQuery)).toEqual(['HEAD /blobs/k', 'PUT /blobs/k', 'PUT /blobs/k'])
  expect(await blobs.read('k')).toEqual(Buffer.from('x'))
})

test('a store that does not respond is named as unavailable', async () => {
  const { server, blobs } = await openStore({ responseTimeoutMs: 10 })
  server.faults.push(...Array.from({ length: 5 }, () => 'silent' as const))

  await expect(blobs.put('k', Buffer.from('x'))).rejects.toThrow(
    new BlobStoreUnavailableError('HEAD k failed: Error: no response within 10 ms'),
  )
})

test('wrong credentials are named in the error', async () => {
  const { server } = await openStore()
  const credentials = staticCredentials({ ...server.config, secretAccessKey: 'other' })
  const blobs = await createBlobs({ secret, store: { kind: 's3', ...server.config, credentials } })

  await expect(blobs.put('k', Buffer.from('x'))).rejects.toThrow(
    'the object store responded to PUT k with 403 SignatureDoesNotMatch',
  )
  await expect(blobs.read('k')).rejects.toThrow('the object store responded to GET k with 403 SignatureDoesNotMatch')
  await expect(blobs.stat('k')).rejects.toThrow('the object store responded to HEAD k with 403')
})
