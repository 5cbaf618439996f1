import { createTokenBody } from '@groundstate/contract/tokens'
import { invalidParameter } from '../../../errors.ts'
import { created, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { createOrganizationToken, deleteOrganizationToken, showOrganizationToken } from './manage.ts'
import type { OrganizationTokenKind } from './organization-token.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'

const PATH = '/organizations/:organizationName/authentication-token'

export const organizationTokenRoutes: Routes = (http) => {
  http.get(PATH, async (req) => {
    const token = await showOrganizationToken(req.ctx, req.params.organizationName, readKind(req.query))
    return ok(tokenResource(token))
  })

  http.post(PATH, { body: createTokenBody }, async (req) => {
    const input = { ...req.body, kind: readKind(req.query) }
    const { token, text } = await createOrganizationToken(req.ctx, req.params.organizationName, input)
    return created(tokenResource(token, text))
  })

  http.delete(PATH, async (req) => {
    await deleteOrganizationToken(req.ctx, req.params.organizationName, readKind(req.query))
    return noContent()
  })
}

const KINDS: Record<string, OrganizationTokenKind> = { organization: 'organization', 'audit-trails': 'audit-trails' }

function readKind(query: Record<string, unknown>): OrganizationTokenKind {
  const given = query['token'] ?? 'organization'
  const kind = typeof given === 'string' ? KINDS[given] : undefined
  if (!kind)
    throw invalidParameter(`token is ${JSON.stringify(given)}, it must be organization or audit-trails`, 'token')
  return kind
}
