import * as contract from '@groundstate/contract/invitations'
import { documentOf } from '@groundstate/contract/responses'
import { sessionSchema } from '@groundstate/contract/sessions'
import { checkOwnPages } from '../../../http/authenticate.ts'
import type { Routes } from '../../../http/http.ts'
import { created, ok, unstored } from '../../../http/responses.ts'
import { sessionResource } from '../../identity/sessions/resource.ts'
import * as service from './service.ts'
import type { OpenInvitation } from './store.ts'

const INVITATION = { 200: documentOf(contract.openInvitationSchema) }

/** Secrets are in bodies, since URLs are in logs. */
export const invitationRoutes: Routes = (http) => {
  http.post(
    '/invitations/actions/show',
    {
      summary: 'Show the invitation of a link',
      access: 'public',
      audit: { none: 'it changes nothing; the secret must not be in a URL' },
      body: contract.showInvitationBody,
      responses: INVITATION,
    },
    async ({ ctx, body }) => invitation(await service.requireInvitation(ctx, body.data.attributes.secret)),
  )
  http.post(
    '/invitations/actions/accept',
    {
      summary: 'Accept an invitation with your account',
      access: 'person',
      audit: ['organization_user update', 'user update'],
      body: contract.showInvitationBody,
      responses: INVITATION,
    },
    async ({ ctx, body }) => invitation(await service.acceptInvitation(ctx, body.data.attributes.secret)),
  )
  http.post(
    '/invitations/actions/register',
    {
      summary: 'Accept an invitation with a new account',
      access: 'public',
      audit: ['user create', 'organization_user update', 'user sign_in'],
      body: contract.registerBody,
      responses: { 201: documentOf(sessionSchema) },
    },
    async (req) => {
      checkOwnPages(req.ctx, req.raw)
      const { session, setCookie } = await service.register(req.ctx, req.body.data.attributes)
      const response = unstored(created(sessionResource(session, session.id)))
      return { ...response, headers: { ...response.headers, 'set-cookie': setCookie } }
    },
  )
}

function invitation(row: OpenInvitation) {
  const attributes = {
    'organization-name': row.organization_name,
    email: row.email,
    'expires-at': row.expires_at,
    'confirms-email': row.confirms_email,
  }
  return unstored(ok({ id: row.id, type: 'invitations', attributes } satisfies contract.OpenInvitationResource))
}
