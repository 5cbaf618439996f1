import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { linkSecret } from './password-resets.ts'
import { type Written, resource, timestamp } from './responses.ts'
import { newPassword, username } from './users.ts'

/** The link of an invitation, shown once to those who manage members. Its id is that of the membership. */
export const invitationSchema = resource('invitations', {
  attributes: {
    email: z.string(),
    url: z.string().describe('our own: the link for the invited person; its use does not prove the address'),
    'expires-at': timestamp,
    'is-mailed': z.boolean().describe('our own: whether another link was sent to the address, which proves it'),
  },
})
export type InvitationResource = Written<typeof invitationSchema>

export const showInvitationBody = plainBody('invitations', z.object({ secret: linkSecret }))
export const registerBody = plainBody('invitations', z.object({ secret: linkSecret, username, password: newPassword }))
export type Register = z.infer<typeof registerBody>['data']['attributes']

/** An invitation as shown to the holder of its link. */
export const openInvitationSchema = resource('invitations', {
  name: 'OpenInvitation',
  attributes: {
    'organization-name': z.string(),
    email: z.string(),
    'expires-at': timestamp,
    'confirms-email': z.boolean().describe('our own: whether accepting proves the address: the link was only mailed'),
  },
})
export type OpenInvitationResource = Written<typeof openInvitationSchema>
