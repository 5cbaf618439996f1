// What the packages have in common: metadata, the time and commit of their build, and archives that are the same for the same
// contents.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, readFile, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { create } from 'tar'
import { ROOT } from './bundle.mjs'

const { repository, homepage, bugs, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))

/** Fields that all published packages share. npm requires the repository for provenance. */
export const METADATA = {
  license,
  repository,
  homepage,
  bugs,
  publishConfig: { access: 'public', provenance: true },
}

/** The version in the manifest of a workspace. */
export async function versionOf(workspace) {
  return JSON.parse(await readFile(join(ROOT, workspace, 'package.json'), 'utf8')).version
}

/**
 * The commit and its time, so that builds of a commit are identical. SOURCE_DATE_EPOCH (seconds) overrides the time, which is the current
 * one where files differ from the commit.
 */
export function currentBuild() {
  const commit = git('rev-parse', '--short=12', 'HEAD')
  const isChanged = commit !== undefined && git('status', '--porcelain') !== ''
  const epoch = process.env.SOURCE_DATE_EPOCH || (isChanged ? undefined : git('show', '-s', '--format=%ct', 'HEAD'))
  if (epoch !== undefined && !/^\d{1,12}$/.test(epoch))
    throw new Error(`SOURCE_DATE_EPOCH is ${epoch}, but must be seconds since 1970`)
  const time = new Date(epoch === undefined ? Date.now() : Number(epoch) * 1000)
  return {
    commit: commit === undefined ? 'unknown' : `${commit}${isChanged ? '-changed' : ''}`,
    time: time.toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

/** The output of git, or undefined where the sources are not a clone. */
function git(...args) {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

/**
 * Packs a directory like `npm pack`, with the same bytes for the same contents. Returns the digest as npm shows it.
 *
 * @param {string} directory
 * @param {string} archive
 */
export async function pack(directory, archive) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
  await create(
    { gzip: true, file: archive, cwd: directory, prefix: 'package', portable: true, mtime: new Date(0) },
    files,
  )
  const hash = createHash('sha512').update(await readFile(archive))
  return `sha512-${hash.digest('base64')}`
}

/** Permissions that do not depend on the umask: everyone may read, and execute the programs. */
export async function setModes(directory, programs) {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    await chmod(path, entry.isDirectory() || programs.includes(relative(directory, path)) ? 0o755 : 0o644)
  }
}
