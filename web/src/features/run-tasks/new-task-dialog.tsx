import { type FormEvent, useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { fieldError, FormErrors, formValues, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { type Task, useCreateTask } from './workspace-tasks.ts'

const NAMES = ['name', 'url', 'hmac-key', 'description']

type NewTaskDialogProps = {
  organization: string
  isOpen: boolean
  onClose: () => void
  onCreated: (task: Task) => void
}

/** Creates a run task of the organization. */
export function NewTaskDialog({ organization, isOpen, onClose, onCreated }: NewTaskDialogProps) {
  const create = useCreateTask(organization)
  const form = useId()

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { name = '', url = '', description = '', 'hmac-key': key = '' } = formValues(event.currentTarget)
    create.mutate(
      { name: name.trim(), url: url.trim(), description: description.trim(), 'hmac-key': key },
      {
        onSuccess: ({ data }) => {
          toast({ text: `Run task ${data.attributes.name} created` })
          onCreated(data)
        },
      },
    )
  }
  return (
    <Dialog
      title="New run task"
      about="An external service that checks runs. The server verifies now that it responds."
      isOpen={isOpen}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} kind="primary" isPending={create.isPending}>
            Create run task
          </Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={submit} className="space-y-4">
        <TextField label="Name" name="name" autoComplete="off" error={fieldError(create.error, 'name')} />
        <TextField
          label="URL"
          name="url"
          type="url"
          placeholder="https://checks.example.com/terraform"
          autoComplete="off"
          error={fieldError(create.error, 'url')}
        />
        <TextField
          label="HMAC key (optional)"
          name="hmac-key"
          type="password"
          autoComplete="new-password"
          hint="Signs each request. It is never shown again."
          error={fieldError(create.error, 'hmac-key')}
        />
        <TextField
          label="Description (optional)"
          name="description"
          autoComplete="off"
          error={fieldError(create.error, 'description')}
        />
        <FormErrors error={create.error} names={NAMES} />
      </form>
    </Dialog>
  )
}
