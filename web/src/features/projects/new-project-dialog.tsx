import { FormDialog } from '../../components/form-dialog.tsx'
import { FormErrors, TextArea, TextField, fieldError, formValues } from '../../components/form.tsx'
import { useGo, useLeaveDialog } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useCreateProject } from './projects.ts'

const NAMES = ['name', 'description']

export default function NewProjectDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const go = useGo()
  const leave = useLeaveDialog(onClose)
  const create = useCreateProject(organization)

  function submit(form: HTMLFormElement) {
    const { name = '', description = '' } = formValues(form)
    create.mutate(
      { name, description: description || null },
      {
        onSuccess: ({ data: { id } }) => {
          toast({ text: `${name} created` })
          leave()
          go({ to: '/app/$organization/projects/$project', params: { organization, project: id } })
        },
      },
    )
  }

  return (
    <FormDialog
      title="New project"
      about="Then create workspaces in it or move them there, and give teams access."
      action="Create project"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
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
    </FormDialog>
  )
}
