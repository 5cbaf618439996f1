import { type FormEvent, useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FormErrors, TextArea, TextField, fieldError, formValues } from '../../components/form.tsx'
import { useGo } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useCreateProject } from './projects.ts'

const NAMES = ['name', 'description']

export default function NewProjectDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const form = useId()
  const go = useGo()
  const create = useCreateProject(organization)

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { name = '', description = '' } = formValues(event.currentTarget)
    create.mutate(
      { name, description: description || null },
      {
        onSuccess: ({ data: { id } }) => {
          toast({ text: `${name} created` })
          go({ to: '/app/$organization/projects/$project', params: { organization, project: id } })
        },
      },
    )
  }

  return (
    <Dialog
      title="New project"
      about="Then create workspaces in it or move them there, and give teams access."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create project" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-4">
        <TextField
          label="Name"
          name="name"
          hint="Letters, numbers, spaces, underscores and hyphens."
          required
          maxLength={100}
          autoFocus
          autoComplete="off"
          error={fieldError(create.error, 'name')}
        />
        <TextArea
          label="Description (optional)"
          name="description"
          rows={2}
          maxLength={256}
          error={fieldError(create.error, 'description')}
        />
        <FormErrors error={create.error} names={NAMES} />
      </form>
    </Dialog>
  )
}
