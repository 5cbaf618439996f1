import { Pencil } from 'lucide-react'
import { type FormEvent, useRef, useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { fieldError, FormErrors, formValues, TextArea } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'

/** The workspace's description, edited in place by users who may. */
export function WorkspaceDescription() {
  const { workspace } = useOpenWorkspace()
  const { description, permissions } = workspace.attributes
  const [isEditing, setIsEditing] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)

  function close() {
    setIsEditing(false)
    // The button is drawn again by then.
    requestAnimationFrame(() => opener.current?.focus())
  }

  if (isEditing) return <DescriptionForm onClose={close} />
  const edit = () => setIsEditing(true)
  if (!description) {
    return permissions['can-update'] ? (
      <Button ref={opener} kind="quiet" size="small" icon={Pencil} className="-ml-2" onClick={edit}>
        Add a description
      </Button>
    ) : null
  }
  return (
    <div className="flex items-start gap-1">
      <p className="line-clamp-3 min-w-0" title={description}>
        {description}
      </p>
      {permissions['can-update'] && (
        <IconButton ref={opener} label="Change the description" icon={Pencil} size="small" onClick={edit} />
      )}
    </div>
  )
}

function DescriptionForm({ onClose }: { onClose: () => void }) {
  const { organization, workspace } = useOpenWorkspace()
  const update = useUpdateWorkspace(organization)

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { description = '' } = formValues(event.currentTarget)
    update.mutate(
      { id: workspace.id, attributes: { description: description.trim() || null } },
      {
        onSuccess: () => {
          toast({ text: 'The description is saved' })
          onClose()
        },
      },
    )
  }
  return (
    <form
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
      className="space-y-2 text-ink"
    >
      <TextArea
        label="Description"
        isLabelHidden
        name="description"
        rows={2}
        // The form appears because its button was pressed.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        defaultValue={workspace.attributes.description ?? ''}
        error={fieldError(update.error, 'description')}
      />
      <FormErrors error={update.error} names={['description']} />
      <div className="flex gap-2">
        <Button type="submit" size="small" kind="primary" isPending={update.isPending}>
          Save
        </Button>
        <Button size="small" kind="quiet" onClick={onClose}>
          Keep it as it is
        </Button>
      </div>
    </form>
  )
}
