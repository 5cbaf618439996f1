import { expect, test } from 'vitest'
import { packArchive, readArchive } from './archive.ts'

const LONG = `${'a-directory-with-a-long-name/'.repeat(5)}größe.tf`
const FILES = [
  { path: 'main.tf', file: new Blob(['resource "terraform_data" "one" {}']) },
  { path: 'empty.txt', file: new Blob([]) },
  { path: 'block.bin', file: new Blob([new Uint8Array(512)]) },
  { path: LONG, file: new Blob(['long']) },
]

test('every file of an archive has its path and size, however long the path is', async () => {
  const archive = await packArchive(FILES)

  const { entries } = await readArchive(archive)

  expect(entries.map(({ path, size }) => ({ path, size }))).toEqual(
    FILES.map(({ path, file }) => ({ path, size: file.size })),
  )
})

test('a compressed file that is no archive cannot be read', async () => {
  const text = new Blob(['text']).stream().pipeThrough(new CompressionStream('gzip'))

  await expect(readArchive(await new Response(text).blob())).rejects.toThrow('it is not a tar archive')
})
