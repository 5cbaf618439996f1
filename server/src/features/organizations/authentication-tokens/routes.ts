import { documentOf } from '@groundstate/contract/responses'
import { tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { deleteAuthenticationToken, requireToken } from './service.ts'

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
  responses: { 200: documentOf(tokenSchema) },
} as const
const DELETE = {
  summary: 'Delete a token',
  access: MANAGER,
  audit: 'authentication_token destroy',
  responses: { 204: null },
} as const

export const anyTokenRoutes: Routes = (http) => {
  http.get(PATH, SHOW, async (req) => ok(tokenResource(await requireToken(req.ctx, req.params.tokenId))))

  http.delete(PATH, DELETE, async (req) => deleteAuthenticationToken(req.ctx, req.params.tokenId))
}
