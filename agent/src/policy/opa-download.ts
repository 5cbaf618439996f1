import { randomUUID } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PolicyRequest } from '@groundstate/contract/policy-requests'
import {
  DOWNLOAD_TIMEOUT_MS,
  downloadDispatcher,
  fetchBytes,
  fetchToFile,
  makeOpenDirectory,
  moveInto,
  platformName,
} from '../engine/engine-download.ts'

/** Linux releases have a static binary, which needs no C library of the machine. */
function binaryName() {
  const name = platformName()
  return name.startsWith('linux_') ? `opa_${name}_static` : `opa_${name}`
}

/**
 * Downloads OPA to `path`, atomically. Its checksum comes with the request, or from the file that the release publishes next to the
 * binary: its first word is the SHA-256 in hexadecimal digits.
 */
export async function downloadOpa(requested: PolicyRequest['opa'], { mirror, path }: { mirror: string; path: string }) {
  const { version, url = `${mirror}/v${version}/${binaryName()}` } = requested
  const options = { dispatcher: downloadDispatcher(), signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) }
  const target = dirname(path)
  const draft = join(dirname(target), `.draft-${randomUUID()}`)
  try {
    const expected = requested.sha256?.toLowerCase() ?? (await publishedChecksum(`${url}.sha256`, options))
    await makeOpenDirectory(dirname(target))
    await makeOpenDirectory(draft)
    const binary = join(draft, 'opa')
    const actual = await fetchToFile(url, binary, options)
    if (actual !== expected) throw new Error(`${url} has the SHA-256 ${actual}, but ${expected} is expected`)
    await chmod(binary, 0o755)
    await moveInto(draft, target)
    return path
  } finally {
    await rm(draft, { recursive: true, force: true })
    await options.dispatcher.close()
  }
}

async function publishedChecksum(url: string, options: Parameters<typeof fetchBytes>[1]): Promise<string> {
  const [first = ''] = (await fetchBytes(url, options)).toString().trim().split(/\s+/)
  if (!/^[0-9a-f]{64}$/i.test(first)) throw new Error(`${url} contains no SHA-256`)
  return first.toLowerCase()
}
