import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { PolicyRequest } from '@groundstate/contract/policy-requests'
import { messageOf } from '../process/errors.ts'

/** `path` is a binary or a directory of them; without `mirror` nothing is downloaded. */
export type OpaSource = { path?: string | undefined; mirror?: string | undefined }

/** A working binary of OPA. */
export type Opa = { path: string; version: string }

type Requested = PolicyRequest['opa']

/** A single version; strict, since it becomes part of a path and an address. */
const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/
const known = new Map<string, Promise<string | undefined>>()
const downloading = new Map<string, Promise<string>>()

/**
 * Finds OPA in exactly the requested version: another one may decide differently. Searches the configured path and PATH, then earlier
 * downloads below `directory`, then downloads it. Rejects with a message for users.
 */
export async function findOpa(requested: Requested, source: OpaSource, directory: string): Promise<Opa> {
  const { version } = requested
  if (!EXACT.test(version)) throw new Error(`"${version}" is no version of OPA, such as 1.4.2`)
  const installed = await listInstalled(source.path)
  const found = installed.find((opa) => opa.version === version)
  if (found !== undefined) return found
  const others = [...new Set(installed.map((opa) => opa.version))].join(', ')
  const missing = `OPA ${version} is not on this agent${others === '' ? '' : `, which has ${others}`}`
  const advice = 'install it on its PATH, or name it with --opa-path'
  if (source.mirror === undefined) throw new Error(`${missing}, and downloads are off: ${advice}`)
  try {
    const path = await download(requested, source.mirror, directory)
    const actual = await versionOf(path)
    if (actual === version) return { path, version }
    throw new Error(`its version is ${actual ?? 'unknown: it does not start'}`)
  } catch (error) {
    throw new Error(`${missing}, and the download failed: ${messageOf(error)}: ${advice}, or set --opa-mirror`, {
      cause: error,
    })
  }
}

async function listInstalled(path: string | undefined): Promise<Opa[]> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const named = path === undefined ? [] : await binariesIn(path)
  const paths = [...named, ...directories.map((directory) => join(directory, 'opa'))]
  const found = await Promise.all(paths.map(async (one) => ({ path: one, version: await versionOf(one) })))
  return found.flatMap(({ path: one, version }) => (version === undefined ? [] : { path: one, version }))
}

/** A directory may have several versions: `opa`, `opa_1.4.2`, `1.4.2/opa`. */
async function binariesIn(path: string): Promise<string[]> {
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isDirectory() !== true) return [path]
  const names = await readdir(path)
  const versioned = names.filter((name) => /^(opa[_-]v?)?\d+\.\d+/.test(name))
  return [join(path, 'opa'), ...versioned.flatMap((name) => [join(path, name), join(path, name, 'opa')])]
}

/** Runs a binary to get its version, once while the file stays the same. */
async function versionOf(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isFile() !== true) return undefined
  const key = `${realpathSync.native(path)} ${stats.mtimeMs} ${stats.size}`
  const version = known.get(key) ?? readVersion(path)
  known.set(key, version)
  return version
}

async function readVersion(path: string) {
  try {
    const { stdout } = await promisify(execFile)(path, ['version'], { env: { HOME: '/' }, timeout: 60_000 })
    return /^Version: v?(\S+)/m.exec(stdout)?.[1]
  } catch {
    return undefined
  }
}

/** Concurrent evaluations share one attempt. */
async function download(requested: Requested, mirror: string, directory: string): Promise<string> {
  const { version, sha256 } = requested
  const path = join(directory, sha256 === undefined ? version : `${version}-${sha256.slice(0, 16)}`, 'opa')
  if ((await stat(path).catch(() => undefined)) !== undefined) return path
  const running = downloading.get(path)
  if (running !== undefined) return running
  // The module of downloads is large, and most agents never need it.
  const attempt = import('./opa-download.ts')
    .then(({ downloadOpa }) => downloadOpa(requested, { mirror, path }))
    .finally(() => downloading.delete(path))
  downloading.set(path, attempt)
  return attempt
}
