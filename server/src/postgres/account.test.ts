import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canEnter, closedDirectory, findSystemAccount } from './account.ts'

const isRoot = process.geteuid?.() === 0

test.runIf(isRoot)('root switches to an unprivileged user with a name', async () => {
  const account = await findSystemAccount()

  expect(account).toMatchObject({ switch: true })
  expect(account.uid).not.toBe(0)
})

test.skipIf(isRoot)('other users run PostgreSQL as themselves', async () => {
  expect(await findSystemAccount()).toMatchObject({ uid: process.geteuid?.(), switch: false })
})

test.runIf(isRoot)('a user id without a name is rejected with advice', async () => {
  process.seteuid?.(54_321)
  try {
    await expect(findSystemAccount()).rejects.toThrow(
      /user id 54321 has no entry in \/etc\/passwd.*GROUNDSTATE_DATABASE_URL/,
    )
  } finally {
    process.seteuid?.(0)
  }
})

test('a directory below a closed one cannot be entered', async () => {
  const top = await mkdtemp(join(tmpdir(), 'groundstate-account-'))
  const inner = join(top, 'inner')
  await mkdir(inner, { mode: 0o755 })
  const stranger = { name: 'stranger', uid: 54_321, gid: 54_321, switch: true }

  await chmod(top, 0o700)
  const closed = await canEnter(stranger, inner)
  await chmod(top, 0o711)
  const open = await canEnter(stranger, inner)

  expect({ closed, open }).toEqual({ closed: false, open: true })
  await rm(top, { recursive: true })
})

test('the closed directory is the topmost one, not one above it', async () => {
  const top = await mkdtemp(join(tmpdir(), 'groundstate-account-'))
  const inner = join(top, 'inner')
  await mkdir(inner, { mode: 0o700 })
  const stranger = { name: 'stranger', uid: 54_321, gid: 54_321, switch: true }

  await chmod(top, 0o711)
  const below = await closedDirectory(stranger, inner)
  await chmod(top, 0o700)
  const both = await closedDirectory(stranger, inner)

  expect({ below, both }).toEqual({ below: inner, both: top })
  await rm(top, { recursive: true })
})
