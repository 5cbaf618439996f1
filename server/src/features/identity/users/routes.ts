import { documentOf } from '@groundstate/contract/responses'
import { userSchema } from '@groundstate/contract/users'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { requireUser } from './access.ts'
import { userResource } from './resource.ts'

export const userRoutes: Routes = (http) => {
  http.get(
    '/users/:userId',
    { summary: 'Show a user', access: 'signed-in', responses: { 200: documentOf(userSchema) } },
    async (req) => {
      const user = await requireUser(req.ctx, req.params.userId)
      return ok(userResource(user, req.ctx))
    },
  )
}
