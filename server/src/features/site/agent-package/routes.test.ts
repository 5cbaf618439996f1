import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { openAgentPackage } from './routes.ts'

async function temporaryDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-package-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

test('the package is public, and its absence is reported', async () => {
  const app = await createTestApp()

  const response = await app.request({ url: '/agent/groundstate-agent.tgz' })

  // The package may or may not be built.
  expect([200, 404]).toContain(response.status)
})

test('the package is sent unchanged, with its size', async () => {
  const path = join(await temporaryDirectory(), 'groundstate-agent.tgz')
  await writeFile(path, 'packed')

  const { content, size } = await openAgentPackage(path)

  expect(await text(content)).toBe('packed')
  expect(size).toBe(6)
})

test('a package that was not built is not found', async () => {
  const path = join(await temporaryDirectory(), 'groundstate-agent.tgz')

  await expect(openAgentPackage(path)).rejects.toMatchObject({ kind: 'not-found' })
})
