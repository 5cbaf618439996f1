import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CODE_INPUT, fieldError, FormErrors, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useSession } from '../session/session.ts'
import { nameProblem } from '../workspaces/new-workspace.ts'
import { useCreateOrganization } from './organizations.ts'

export default function NewOrganizationDialog({ onClose }: { onClose: () => void }) {
  const form = useId()
  const account = useSession().data?.attributes
  const [name, setName] = useState('')
  const [email, setEmail] = useState(account?.email ?? '')
  const create = useCreateOrganization()
  const navigate = useNavigate()
  const problem = nameProblem(name)

  function submit(event: FormEvent) {
    event.preventDefault()
    if (problem !== undefined || create.isPending) return
    create.mutate(
      { name, email },
      {
        onSuccess: ({ data }) => {
          const organization = data.attributes.name
          toast({ text: `${organization} created` })
          void navigate({ to: '/app/$organization', params: { organization } })
        },
      },
    )
  }

  return (
    <Dialog
      title="New organization"
      about="An organization has its own workspaces, teams, agents and variables. You will be its owner."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create organization" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-4">
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
      </form>
    </Dialog>
  )
}
