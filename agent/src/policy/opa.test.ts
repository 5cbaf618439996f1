import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { arch } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { startMirror } from '../testing/engine-mirror.ts'
import { findOpa } from './opa.ts'

const BINARY = '#!/bin/sh\necho "Version: 1.4.2"\n'
const SHA256 = createHash('sha256').update(BINARY).digest('hex')
const NAME = `opa_linux_${arch() === 'x64' ? 'amd64' : arch()}_static`

/** A mirror with OPA 1.4.2, and an agent without OPA on its PATH. */
async function setUp(checksum = `${SHA256}  ${NAME}\n`) {
  vi.stubEnv('PATH', '/nonexistent')
  onTestFinished(() => void vi.unstubAllEnvs())
  const mirror = await startMirror()
  mirror.files.set(`/v1.4.2/${NAME}`, BINARY).set(`/v1.4.2/${NAME}.sha256`, checksum)
  return { mirror, directory: join(await temporaryDirectory(), 'opa') }
}

test('a missing OPA is downloaded once', async () => {
  const { mirror, directory } = await setUp()
  const find = async () => findOpa({ version: '1.4.2' }, { mirror: mirror.url }, directory)

  const found = await Promise.all([find(), find()])
  const again = await find()

  for (const opa of [...found, again]) expect(opa).toEqual({ path: join(directory, '1.4.2/opa'), version: '1.4.2' })
  expect(mirror.requests).toEqual([`/v1.4.2/${NAME}.sha256`, `/v1.4.2/${NAME}`])
})

test('a download with another checksum is refused, and nothing of it stays', async () => {
  const { mirror, directory } = await setUp('0'.repeat(64))

  const found = findOpa({ version: '1.4.2' }, { mirror: mirror.url }, directory)

  await expect(found).rejects.toThrow(
    `OPA 1.4.2 is not on this agent, and the download failed: ${mirror.url}/v1.4.2/${NAME} has the SHA-256 ${SHA256}, but ${'0'.repeat(64)} is expected`,
  )
  expect(await readdir(directory)).toEqual([])
})

test('the address and checksum of the request replace those of the mirror', async () => {
  const { mirror, directory } = await setUp()
  const requested = { version: '1.4.2', url: `${mirror.url}/v1.4.2/${NAME}`, sha256: SHA256.toUpperCase() }

  const found = await findOpa(requested, { mirror: 'http://127.0.0.1:9' }, directory)

  expect(found.version).toBe('1.4.2')
  expect(mirror.requests).toEqual([`/v1.4.2/${NAME}`])
})

test('a version that cannot be downloaded is named, with the address and the advice', async () => {
  const { mirror, directory } = await setUp()

  const found = findOpa({ version: '1.9.9' }, { mirror: mirror.url }, directory)

  await expect(found).rejects.toThrow(
    `OPA 1.9.9 is not on this agent, and the download failed: ${mirror.url}/v1.9.9/${NAME}.sha256 responded with 404: there is no such version: install it on its PATH, or name it with --opa-path, or set --opa-mirror`,
  )
})
