import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileError, makeDirectory } from './directory.ts'

async function newDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-directory-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

test('a directory is created with its parents, also concurrently, and an existing one is kept', async () => {
  const path = join(await newDirectory(), 'a/b/c')

  await Promise.all([makeDirectory(path, 0o700), makeDirectory(path, 0o700), makeDirectory(path, 0o700)])
  await makeDirectory(path)

  expect((await stat(path)).mode & 0o777).toBe(0o700)
})

test('parents get the default mode, so that the user of the database can enter them', async () => {
  const parent = join(await newDirectory(), 'a')

  await makeDirectory(join(parent, 'b'), 0o700)

  expect((await stat(parent)).mode & 0o777).toBe(0o777 & ~process.umask())
})

test('a location where the system allows no directories is rejected', async () => {
  await expect(makeDirectory('/proc/groundstate/data')).rejects.toThrow(
    /^can't make the directory \/proc\/groundstate\/data: the system allows no new directory there; choose another directory/,
  )
})

test('a file in the path is an error', async () => {
  const file = join(await newDirectory(), 'file')
  await writeFile(file, '')

  await expect(makeDirectory(file)).rejects.toThrow(`${file} is a file, not a directory`)
  await expect(makeDirectory(join(file, 'data'))).rejects.toThrow(`${file} is a file, not a directory`)
})

test('the advice of a file error names the data directory only for files in it', async () => {
  const dataDir = await newDirectory()
  const messageAt = async (path: string) => readFile(path).catch((error: unknown) => fileError(error, dataDir)?.message)

  const reason = 'there is no such file or directory'
  expect(await messageAt(join(dataDir, 'a'))).toBe(`can't use ${dataDir}/a: ${reason}; check GROUNDSTATE_DATA_DIR`)
  expect(await messageAt(`${dataDir}2/a`)).toBe(`can't use ${dataDir}2/a: ${reason}`)
})

test('a program that cannot start is not a file error', async () => {
  const [error] = await once(spawn('/no/program'), 'spawn').catch((error: unknown) => [error])

  expect(error).toMatchObject({ path: '/no/program', code: 'ENOENT' })
  expect(fileError(error, '/no')).toBeUndefined()
})
