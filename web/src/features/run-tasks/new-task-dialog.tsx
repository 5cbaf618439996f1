import { type FormEvent, useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FormErrors } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useCreateTask } from './run-tasks.ts'
import {
  GLOBAL_POINTER,
  GeneralFields,
  GlobalFields,
  POOL_POINTER,
  ReceiverFields,
  globalProblem,
} from './task-fields.tsx'
import { NEW_TASK, taskBody } from './task-form.ts'
import type { Task } from './workspace-tasks.ts'

type NewTaskDialogProps = {
  organization: string
  isOpen: boolean
  onClose: () => void
  onCreated: (task: Task) => void
}

export function NewTaskDialog({ organization, isOpen, onClose, onCreated }: NewTaskDialogProps) {
  const create = useCreateTask(organization)
  const draft = useDraft(NEW_TASK)
  const form = useId()
  const isFree = useOrganization(organization).data?.attributes['plan-identifier'] === 'free'

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { name, url } = draft.values
    draft.setError(null)
    create.mutate(taskBody({ ...draft.changed, name, url }, draft.values), {
      onError: draft.setError,
      onSuccess: ({ data }) => {
        toast({ text: `Run task ${data.attributes.name} created` })
        draft.reset()
        onCreated(data)
      },
    })
  }
  return (
    <Dialog
      title="New run task"
      about="An external service that checks runs. The server verifies now that it responds with 200."
      isOpen={isOpen}
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button
            label="Create run task"
            type="submit"
            form={form}
            kind="primary"
            isPending={create.isPending}
            reason={globalProblem(draft.values)}
          />
        </>
      }
    >
      <form id={form} noValidate onSubmit={submit} className="space-y-4">
        <GeneralFields draft={draft} />
        <ReceiverFields organization={organization} draft={draft} />
        {!isFree && <GlobalFields draft={draft} />}
        <FormErrors
          error={draft.error}
          names={['name', 'description', 'url', 'hmac-key', 'ca-certificate', POOL_POINTER, GLOBAL_POINTER]}
        />
      </form>
    </Dialog>
  )
}
