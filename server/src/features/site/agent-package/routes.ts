import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes } from '../../../http/responses.ts'

export const agentPackageRoutes: Routes = (http) => {
  http.get(
    '/agent/groundstate-agent.tgz',
    {
      summary: 'Download the npm package of the agent',
      access: 'public',
      prefix: '',
      responses: { 200: binary('application/gzip') },
    },
    async () => {
      const { content, size } = await openAgentPackage()
      // npm caches downloads; without this it would miss the package of a newer server.
      return { ...bytes(content, 'application/gzip', size), headers: { 'cache-control': 'no-cache' } }
    },
  )
}

/** The output of `npm run build:agent`. */
const PACKAGE = join(import.meta.dirname, '../../../../../agent/dist/groundstate-agent.tgz')

/** The npm package of the agent and its size in bytes. Throws `not-found` if it was not built. */
export async function openAgentPackage(path = PACKAGE): Promise<{ content: Readable; size: number }> {
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    const detail = 'the agent package is missing on this server: build it with npm run build:agent'
    throw new AppError('not-found', [{ detail }])
  })
  try {
    const { size } = await file.stat()
    return { content: file.createReadStream(), size }
  } catch (error) {
    await file.close()
    throw error
  }
}
