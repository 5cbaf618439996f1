import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { FormDialog } from '../../components/form-dialog.tsx'
import { FormErrors, RadioField, TextField, fieldError, formValues } from '../../components/form.tsx'
import { useLeaveDialog } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useCreateTeam } from './teams.ts'

type Visibility = 'organization' | 'secret'

export const VISIBILITIES: readonly { value: Visibility; text: string; about: string }[] = [
  { value: 'organization', text: 'Visible', about: 'All members of the organization see the team and its members.' },
  { value: 'secret', text: 'Secret', about: 'Only its members and users who manage teams see it.' },
]

export default function NewTeamDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const [visibility, setVisibility] = useState<string>('organization')
  const create = useCreateTeam(organization)
  const navigate = useNavigate()
  const leave = useLeaveDialog(onClose)

  function submit(form: HTMLFormElement) {
    const { name = '', description = '' } = formValues(form)
    create.mutate(
      { name, description: description || null, visibility: visibility as Visibility },
      {
        onSuccess: ({ data }) => {
          toast({ text: `${data.attributes.name} created` })
          leave()
          void navigate({ to: '/app/$organization/teams/$team', params: { organization, team: data.id } })
        },
      },
    )
  }

  return (
    <FormDialog
      title="New team"
      about="Then add members and give the team access."
      action="Create team"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        maxLength={90}
        error={fieldError(create.error, 'name')}
        autoComplete="off"
        required
        autoFocus
      />
      <TextField label="Description" name="description" maxLength={1000} autoComplete="off" />
      <RadioField
        label="Visibility"
        name="visibility"
        value={visibility}
        options={VISIBILITIES}
        onChange={setVisibility}
      />
      <FormErrors error={create.error} names={['name']} />
    </FormDialog>
  )
}
