import { chmod, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { canEnter, findSystemAccount } from './account.ts'
import { openDirectories } from './directories.ts'

const isRoot = process.geteuid?.() === 0
let top: string
let messages: string[]
const log = { info: (message: string) => void messages.push(message), warn: () => undefined }

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'groundstate-directories-'))
  await chmod(top, 0o755)
  messages = []
})
afterEach(() => rm(top, { recursive: true, force: true }))

test('the socket is in a directory that only its user can enter', async () => {
  const account = await findSystemAccount()

  const directories = await openDirectories(join(top, 'data'), account, log)

  const { mode, uid } = await stat(directories.home)
  expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o700, uid: account.uid })
  expect(await canEnter(account, directories.home)).toBe(true)
  expect(await canEnter({ ...account, uid: 54_321, gid: 54_321 }, join(top, 'data'))).toBe(false)
})

test.runIf(isRoot)('a data directory below a closed one has its database elsewhere, with one notice', async () => {
  const closed = join(top, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const account = await findSystemAccount()
  const open = () => openDirectories(join(closed, 'data'), account, log, join(top, 'system'))

  const first = await open()
  const second = await open()

  expect(first.home.startsWith(join(top, 'system'))).toBe(true)
  expect(await canEnter(account, first.home)).toBe(true)
  expect(second).toEqual(first)
  expect(await readFile(join(closed, 'data/postgres.location'), 'utf8')).toBe(`${first.home}\n`)
  expect(messages).toEqual([expect.stringContaining(`the database is in ${first.home}`)])
})

test.runIf(isRoot)('a database of another user is rejected with advice', async () => {
  const dataDir = join(top, 'data')
  const owner = { name: 'owner', uid: 54_321, gid: 54_321, switch: true }
  await openDirectories(dataDir, owner, log)

  await expect(openDirectories(dataDir, { ...owner, name: 'other', uid: 54_322 }, log)).rejects.toThrow(
    /belongs to the user id 54321, but PostgreSQL would run as other; .*chown -R other/,
  )
})
