import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, fieldError, FormErrors, TextField } from '../../components/form.tsx'
import { useLeaveDialog } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useSession } from '../session/session.ts'
import { nameProblem } from '../workspaces/new-workspace.ts'
import { useCreateOrganization } from './organizations.ts'

export default function NewOrganizationDialog({ onClose }: { onClose: () => void }) {
  const account = useSession().data?.attributes
  const [name, setName] = useState('')
  const [email, setEmail] = useState(account?.email ?? '')
  const create = useCreateOrganization()
  const navigate = useNavigate()
  const leave = useLeaveDialog(onClose)
  const problem = nameProblem(name)

  function submit() {
    if (problem !== undefined) return
    create.mutate(
      { name, email },
      {
        onSuccess: ({ data }) => {
          const organization = data.attributes.name
          toast({ text: `${organization} created` })
          leave()
          void navigate({ to: '/app/$organization', params: { organization } })
        },
      },
    )
  }

  return (
    <FormDialog
      title="New organization"
      about="An organization has its own workspaces, teams, agents and variables. You will be its owner."
      action="Create organization"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Letters, numbers, underscores and hyphens. Appears in URLs and configurations."
        error={problem ?? fieldError(create.error, 'name')}
        value={name}
        onChange={({ target }) => setName(target.value)}
        required
        autoFocus
        {...CODE_INPUT}
      />
      <TextField
        label="Email"
        hint="Contact address of the organization."
        type="email"
        error={fieldError(create.error, 'email')}
        value={email}
        onChange={({ target }) => setEmail(target.value)}
        required
      />
      <FormErrors error={create.error} names={['name', 'email']} />
    </FormDialog>
  )
}
