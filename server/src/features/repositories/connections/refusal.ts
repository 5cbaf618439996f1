import type { TransactionCtx } from '../../../app.ts'
import { enqueueMail } from '../../../mail/mail.ts'
import type { ConnectionRow } from '../../vcs/oauth-clients/store.ts'
import { listOwnerAddresses } from './store.ts'

/** Tells the owners once that a host refuses a token: pushes start nothing until it is replaced. */
export async function noticeRefusal(ctx: TransactionCtx, row: ConnectionRow, hostName: string) {
  for (const to of await listOwnerAddresses(ctx.db, row.organization_id)) {
    await enqueueMail(ctx, {
      to,
      subject: `${hostName} refuses the token of a connection`,
      text: `Groundstate can no longer read the repositories of a connection to ${hostName}, because the host refuses its token. It may have been revoked or have expired. Pushes and pull requests start no runs until the token is replaced.`,
      link: { label: 'Replace the token', url: `${ctx.baseUrl}/app/connections/${row.oauth_client_id}` },
    })
  }
}
