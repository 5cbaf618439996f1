import { type ModuleDocuments, moduleDocumentsSchema } from '@groundstate/contract/module-documents'
import { documentOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { readDocuments } from './service.ts'

const NONE: ModuleDocuments = { modules: [], problems: [] }

export const moduleDocumentRoutes: Routes = (http) => {
  http.get(
    '/registry-module-versions/:id/documents',
    {
      summary: 'Show the documents of a version of a module',
      access: { organization: 'registry:read' },
      responses: { 200: documentOf(moduleDocumentsSchema) },
    },
    async ({ ctx, params: { id } }) => {
      const found = await readDocuments(ctx, id)
      const { modules, problems } = found ? (found.documents as ModuleDocuments) : NONE
      return ok({
        id,
        type: 'registry-module-documents',
        attributes: { status: found ? 'ready' : 'pending', modules, problems, 'read-at': found?.read_at ?? null },
      })
    },
  )
}
