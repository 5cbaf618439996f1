import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readSums, SumsWriter } from './checksums.ts'

test('a list that is written by several workers has the checksum that its writer reports', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'checksums-'))
  onTestFinished(async () => rm(directory, { recursive: true, force: true }))
  const list = join(directory, 'list')
  await using sums = await SumsWriter.create(list)
  const paths = Array.from({ length: 20_000 }, (_, index) => `database/base/5/${index}`)

  await Promise.all(paths.map(async (path) => sums.add({ sha256: 'a'.repeat(64), path }, 1)))
  const digest = await sums.end()

  const text = await readFile(list)
  expect(digest).toEqual({ files: 20_000, bytes: 20_000, sha256: createHash('sha256').update(text).digest('hex') })
  const read: string[] = []
  for await (const { path } of readSums(list)) read.push(path)
  expect(read).toEqual(paths)
})
