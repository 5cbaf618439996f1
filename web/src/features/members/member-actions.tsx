import { MailPlus, UserMinus } from 'lucide-react'
import { useState } from 'react'
import { serverPath } from '../../api/base.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import type { RowAction } from '../../components/row-menu.tsx'
import { InvitationLink } from './invite-dialog.tsx'
import { type Invitation, type Member, removalReason, removeMember, resendInvitation } from './members.ts'

type MemberActionsProps = { organization: string; member: Member; isYou: boolean; mayManage: boolean }

/** The actions on a member, for a menu or as buttons. Resending shows the new link with `onLink`. */
export function memberActions(
  { organization, member, isYou, mayManage }: MemberActionsProps,
  { onLink, onRemoved }: { onLink: (link: Invitation) => void; onRemoved?: () => void },
): RowAction[] {
  const { name, attributes } = member
  const isInvited = attributes.status === 'invited'
  const resend: RowAction = {
    text: 'Resend invitation',
    icon: MailPlus,
    confirm: {
      title: `Create a new link for ${name}?`,
      consequence: 'Earlier links stop working. If the server sends email, the address gets a new one too.',
      kind: 'primary',
      action: 'Create link',
      onConfirm: async () => onLink(await resendInvitation(organization, member)),
    },
  }
  const remove: RowAction = {
    text: isYou ? 'Leave organization' : isInvited ? 'Withdraw invitation' : 'Remove member',
    icon: UserMinus,
    reason: removalReason(member, isYou),
    confirm: {
      title: isYou ? `Leave ${organization}?` : `Remove ${name} from ${organization}?`,
      consequence: isInvited
        ? 'The links of the invitation stop working.'
        : `${isYou ? 'You lose' : 'They lose'} all access to the organization. The account stays.`,
      action: isYou ? 'Leave' : isInvited ? 'Withdraw' : 'Remove',
      done: isInvited ? 'Invitation withdrawn' : `${name} removed`,
      onConfirm: async () => {
        await removeMember(organization, member)
        if (isYou) window.location.assign(serverPath('/app'))
        else onRemoved?.()
      },
    },
  }
  return [...(isInvited && mayManage ? [resend] : []), ...(mayManage || isYou ? [remove] : [])]
}

/** A dialog with a new link, which is shown once. */
export function useNewLink() {
  const [link, setLink] = useState<Invitation>()
  const dialog = (
    <Dialog
      title="New invitation link"
      about="Copy it now: it is shown only once."
      isOpen={link !== undefined}
      onClose={() => setLink(undefined)}
      hasSecret
      width="max-w-2xl"
      footer={<Button label="Done" kind="primary" onClick={() => setLink(undefined)} />}
    >
      {link && <InvitationLink link={link} />}
    </Dialog>
  )
  return { setLink, dialog }
}
