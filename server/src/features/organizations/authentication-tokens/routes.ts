import { noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { deleteToken } from './delete.ts'
import { requireToken } from './access.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'

export const anyTokenRoutes: Routes = (http) => {
  http.get('/authentication-tokens/:tokenId', async (req) =>
    ok(tokenResource(await requireToken(req.ctx, req.params.tokenId))),
  )

  http.delete('/authentication-tokens/:tokenId', async (req) => {
    await deleteToken(req.ctx, req.params.tokenId)
    return noContent()
  })
}
