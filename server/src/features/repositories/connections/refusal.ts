import type { TransactionCtx } from '../../../app.ts'
import { enqueueMail } from '../../../mail/mail.ts'
import { listOwnerAddresses } from './store.ts'

type Refused = { organization_id: string; organization_name: string; oauth_client_id: string | null }

/** Tells the owners once that a host refuses a connection: pushes start nothing until somebody connects it again. */
export async function noticeRefusal(ctx: TransactionCtx, refused: Refused, hostName: string) {
  const { organization_id: organizationId, organization_name: name, oauth_client_id: clientId } = refused
  const what = clientId === null ? 'installation of the GitHub App' : 'token'
  const why = clientId === null ? 'removed or suspended' : 'revoked or have expired'
  for (const to of await listOwnerAddresses(ctx.db, organizationId)) {
    await enqueueMail(ctx, {
      to,
      subject: `${hostName} refuses the ${what} of a connection`,
      text: `Groundstate can no longer read the repositories of a connection of the organization ${name} to ${hostName}, because the host refuses its ${what}. It may have been ${why}. Pushes and pull requests start no runs until somebody connects it again.`,
      link: {
        label: 'Show the connection',
        url: `${ctx.baseUrl}/app/${name}/connections${clientId === null ? '' : `/${clientId}`}`,
      },
    })
  }
}
