import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { binary } from '../../../http/responses.ts'

const DOWNLOAD = {
  summary: 'Download the package of the agent, for npm',
  access: 'public',
  prefix: '',
  responses: { 200: binary('application/gzip') },
} as const

export const agentPackageRoutes: Routes = (http) => {
  http.get('/agent/groundstate-agent.tgz', DOWNLOAD, async () => {
    const { content, size } = await openAgentPackage()
    return {
      status: 200,
      // npm caches downloads: without this it would not see the package of a newer server.
      headers: { 'cache-control': 'no-cache' },
      content: { type: 'application/gzip', data: content, size },
    }
  })
}

/** The output of `npm run build:agent`. */
const PACKAGE = join(import.meta.dirname, '../../../../../agent/dist/groundstate-agent.tgz')

/** The agent as a package that npm installs; its size in bytes. Throws `not-found` when it was not built. */
export async function openAgentPackage(path = PACKAGE): Promise<{ content: Readable; size: number }> {
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    const detail = 'the package of the agent is not built on this server: npm run build:agent makes it'
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
