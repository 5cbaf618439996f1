import { ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { requireUser } from './service.ts'
import { userResource } from './resource.ts'

export const userRoutes: Routes = (http) => {
  http.get('/users/:userId', async (req) => {
    const user = await requireUser(req.ctx, req.params.userId)
    return ok(userResource(user, req.ctx.baseUrl))
  })
}
