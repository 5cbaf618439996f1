import { configurationVersionIncludes } from '@groundstate/contract/includes'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { configurationVersionResource } from '../configuration-versions/resource.ts'
import { ARCHIVE, VERSION, archiveResponse } from '../configuration-versions/routes.ts'
import { openArchive } from '../configuration-versions/service.ts'
import { requireConfigurationOfRun } from './access.ts'
import { openConfiguration } from './service.ts'

/** The configuration version of a run, and its archive for those who may read the runs that use it. */
export const runConfigurationRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/configuration-version',
    {
      summary: 'Show the configuration version of a run',
      access: { workspace: 'runs:read' },
      include: configurationVersionIncludes,
      responses: { 200: VERSION },
    },
    async (req) => {
      return ok(configurationVersionResource(await requireConfigurationOfRun(req.ctx, req.params.runId)))
    },
  )

  http.get(
    '/runs/:runId/configuration-version/download',
    {
      summary: 'Download the configuration of a run',
      access: [{ workspace: 'runs:read' }, 'task'],
      responses: { 200: ARCHIVE },
    },
    async (req) => {
      const version = await requireConfigurationOfRun(req.ctx, req.params.runId)
      return archiveResponse(await openArchive(req.ctx, version))
    },
  )
  http.get(
    '/configuration-versions/:id/download',
    { summary: 'Download a configuration', access: [{ workspace: 'runs:read' }, 'task'], responses: { 200: ARCHIVE } },
    async (req) => {
      return archiveResponse(await openConfiguration(req.ctx, req.params.id))
    },
  )
}
