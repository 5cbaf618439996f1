import { documentOf } from '@groundstate/contract/answers'
import { tokenSchema } from '@groundstate/contract/tokens'
import { noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { requireToken } from './access.ts'
import { deleteAuthenticationToken } from './delete.ts'

const PATH = '/authentication-tokens/:tokenId'

// The kind of the token decides.
const MANAGER = [
  'self',
  'site-admin',
  { team: 'tokens:manage' },
  { organization: 'tokens:manage' },
  { organization: 'agent-pools:manage' },
] as const

const SHOW = {
  summary: 'Show a token',
  access: MANAGER,
  answers: { 200: documentOf(tokenSchema) },
} as const
const DELETE = {
  summary: 'Delete a token',
  access: MANAGER,
  audit: 'authentication_token destroy',
  answers: { 204: null },
} as const

export const anyTokenRoutes: Routes = (http) => {
  http.get(PATH, SHOW, async (req) => ok(tokenResource(await requireToken(req.ctx, req.params.tokenId))))

  http.delete(PATH, DELETE, async (req) => {
    await deleteAuthenticationToken(req.ctx, req.params.tokenId)
    return noContent()
  })
}
