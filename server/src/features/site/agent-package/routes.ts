import type { Routes } from '../../../http/http.ts'
import { binary } from '../../../http/responses.ts'
import { openAgentPackage } from './open-agent-package.ts'

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
      // npm keeps what it has downloaded: without this it would not see the package of a newer server.
      headers: { 'cache-control': 'no-cache' },
      content: { type: 'application/gzip', data: content, size },
    }
  })
}
