import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { DELETE_TOKEN, SHOW_TOKEN } from '../../identity/tokens/routes.ts'
import { deleteAuthenticationToken, requireToken } from './service.ts'

const PATH = '/authentication-tokens/:tokenId'

/** The kind of the token decides. */
const MANAGER = {
  access: [
    'self',
    'site-admin',
    { team: 'tokens:manage' },
    { organization: 'tokens:manage' },
    { organization: 'agent-pools:manage' },
  ],
} as const

export const anyTokenRoutes: Routes = (http) => {
  http.get(PATH, { ...SHOW_TOKEN, ...MANAGER, summary: 'Show a token' }, async (req) =>
    ok(tokenResource(await requireToken(req.ctx, req.params.tokenId))),
  )
  http.delete(PATH, { ...DELETE_TOKEN, ...MANAGER, summary: 'Delete a token' }, async (req) =>
    deleteAuthenticationToken(req.ctx, req.params.tokenId),
  )
}
