import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder } from './folder.ts'

async function newFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'groundstate-folder-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

test('a folder is made with those above it, and one that is there stays, also when several make it at once', async () => {
  const path = join(await newFolder(), 'a/b/c')

  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(path, 0o700)])
  await makeFolder(path)

  expect((await stat(path)).mode & 0o777).toBe(0o700)
})

test('the folders above it are as open as any, so that the user of the database gets through them', async () => {
  const parent = join(await newFolder(), 'a')

  await makeFolder(join(parent, 'b'), 0o700)

  expect((await stat(parent)).mode & 0o777).toBe(0o777 & ~process.umask())
})

test('a place where the system makes no folders is refused', async () => {
  await expect(makeFolder('/proc/groundstate/data')).rejects.toThrow(
    /^can't make the folder \/proc\/groundstate\/data: the system takes no new folder there; choose another folder/,
  )
})

test('a file is no folder, neither at the path nor above it', async () => {
  const file = join(await newFolder(), 'file')
  await writeFile(file, '')

  await expect(makeFolder(file)).rejects.toThrow(`${file} is a file, no folder`)
  await expect(makeFolder(join(file, 'data'))).rejects.toThrow('something above it is a file')
})
