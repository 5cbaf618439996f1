import { type Ctx, type TransactionCtx } from '../../../app.ts'
import { newLinkSecret, tokenHash } from '../../../auth/tokens.ts'
import { type Mail, enqueueMail, sendsMail } from '../../../mail/mail.ts'
import { mayMailInvitation } from '../../identity/sessions/count-attempts.ts'
import type { InvitationLink } from './resource.ts'
import { updateMembership } from './store.ts'

const INVITATION_TTL_MS = 14 * 24 * 60 * 60_000

type Invited = { id: string; email: string; organizationName: string }

/**
 * Creates the links of an invitation, which replace earlier ones: one to show to the inviter, and with a mail server one for the invited address.
 * Only the second proves the address, so they have separate secrets.
 */
export async function createInvitationLinks(
  ctx: TransactionCtx,
  { id, email, organizationName }: Invited,
): Promise<InvitationLink> {
  const [shown, mailed] = [newLinkSecret(), newLinkSecret()]
  const expiresAt = new Date(ctx.now().getTime() + INVITATION_TTL_MS)
  const urlOf = (secret: string) => `${ctx.baseUrl}/app/invitation#${secret}`
  const isMailed = await mailInvited(ctx, {
    to: email,
    subject: `Invitation to ${organizationName} on Groundstate`,
    text:
      `${inviter(ctx)} invites you to the organization ${organizationName}. The link works once, within 14 days.\n\n` +
      'If you did not expect this mail, ignore it.',
    link: { label: 'Accept invitation', url: urlOf(mailed) },
  })
  await updateMembership(ctx.db, id, {
    invitation_hash: tokenHash(shown),
    mailed_invitation_hash: isMailed ? tokenHash(mailed) : null,
    invitation_expires_at: expiresAt,
  })
  return { membershipId: id, email, url: urlOf(shown), expiresAt, isMailed }
}

/** Informs a person with an account, who is a member already. */
export async function mailNewMember(ctx: TransactionCtx, { email, organizationName }: Omit<Invited, 'id'>) {
  await mailInvited(ctx, {
    to: email,
    subject: `You are a member of ${organizationName} on Groundstate`,
    text: `${inviter(ctx)} added you to the organization ${organizationName}.`,
    link: { label: `Open ${organizationName}`, url: `${ctx.baseUrl}/app/${organizationName}` },
  })
}

/** Anyone can own an organization and invite any address, so an address gets few mails. Returns whether this is one. */
async function mailInvited(ctx: TransactionCtx, mail: Mail) {
  return sendsMail(ctx) && (await mayMailInvitation(ctx, mail.to)) && (await enqueueMail(ctx, mail))
}

function inviter({ actor }: Ctx) {
  return actor.kind === 'user' ? actor.username : 'An administrator'
}
