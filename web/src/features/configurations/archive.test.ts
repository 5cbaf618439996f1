import { expect, test } from 'vitest'
import { listArchive, packArchive } from './archive.ts'

const LONG = `${'a-directory-with-a-long-name/'.repeat(5)}größe.tf`
const FILES = [
  { path: 'main.tf', file: new Blob(['resource "terraform_data" "one" {}']) },
  { path: 'empty.txt', file: new Blob([]) },
  { path: 'block.bin', file: new Blob([new Uint8Array(512)]) },
  { path: LONG, file: new Blob(['long']) },
]

test('every file of an archive has its path and size, however long the path is', async () => {
  const archive = await packArchive(FILES)

  expect(await listArchive(archive)).toEqual(FILES.map(({ path, file }) => ({ path, size: file.size })))
})

test('a compressed file that is no archive cannot be listed', async () => {
  const text = new Blob(['text']).stream().pipeThrough(new CompressionStream('gzip'))

  await expect(listArchive(await new Response(text).blob())).rejects.toThrow('it is not a tar archive')
})
