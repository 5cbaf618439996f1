import { documentOf } from '@groundstate/contract/answers'
import { tokenSchema } from '@groundstate/contract/tokens'
import { noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { requireToken } from './access.ts'
import { deleteAuthenticationToken } from './delete.ts'

const PATH = '/authentication-tokens/:tokenId'

const SHOW = { summary: 'Show a token', answers: { 200: documentOf(tokenSchema) } }
const DELETE = { summary: 'Delete a token', answers: { 204: null } }

export const anyTokenRoutes: Routes = (http) => {
  http.get(PATH, SHOW, async (req) => ok(tokenResource(await requireToken(req.ctx, req.params.tokenId))))

  http.delete(PATH, DELETE, async (req) => {
    await deleteAuthenticationToken(req.ctx, req.params.tokenId)
    return noContent()
  })
}
