import { createTokenBody } from '@groundstate/contract/tokens'
import { created, listPage } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { tokenResource } from './resource.ts'
import { createUserToken, listUserTokens } from './user-tokens.ts'

export const userTokenRoutes: Routes = (http) => {
  http.get('/users/:userId/authentication-tokens', async (req) => {
    const page = req.page()
    const { rows, total } = await listUserTokens(req.ctx, req.params.userId, page)
    return listPage({ url: req.url, page }, { rows: rows.map((row) => tokenResource(row)), total })
  })

  http.post('/users/:userId/authentication-tokens', { body: createTokenBody }, async (req) => {
    const { token, text } = await createUserToken(req.ctx, req.params.userId, req.body)
    return created(tokenResource(token, text))
  })
}
