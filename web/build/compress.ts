import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const TEXT = /\.(?:css|js|json|svg|txt)$/
/** Below this size (bytes) the headers weigh more than what is saved. */
const SMALL = 512
/** The best quality, 11, saves another 1.5 % and takes twice as long. */
const QUALITY = 10

/**
 * Writes each built text a second and a third time, compressed by brotli and gzip. The server sends what
 * the browser takes and compresses nothing itself.
 */
export function compress(): Plugin {
  return {
    name: 'groundstate-compress',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const entries = await readdir(dir, { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name))
      await Promise.all(files.map(async ({ parentPath, name }) => compressFile(join(parentPath, name))))
    },
  }
}

async function compressFile(path: string) {
  const content = await readFile(path)
  if (content.length < SMALL) return
  const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then(async (bytes) => writeFile(`${path}.br`, bytes)),
    promisify(gzip)(content, { level: 9 }).then(async (bytes) => writeFile(`${path}.gz`, bytes)),
  ])
}
