import { type FormEvent, useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CheckField, FormErrors, RadioField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { useGo } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useProjectName } from '../workspaces/workspaces.ts'
import { PRIORITY_HINT, scopeOptions, useCreateVariableSet } from './variable-sets.ts'

const NAMES = ['name', 'description', 'global', 'priority']

type NewSetDialogProps = {
  organization: string
  /** The project that will own the set; undefined for the organization. */
  projectId: string | undefined
  onClose: () => void
}

export default function NewSetDialog({ organization, projectId, onClose }: NewSetDialogProps) {
  const form = useId()
  const go = useGo()
  const create = useCreateVariableSet(organization)
  const { data: project = 'the project' } = useProjectName(projectId)
  const isOfProject = projectId !== undefined
  const { values, set, text, check } = useDraft({
    name: '',
    description: '',
    scope: isOfProject ? 'global' : 'selected',
    priority: false,
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    const { name, description, scope, priority } = values
    create.mutate(
      {
        attributes: { name, description, priority, global: scope === 'global' },
        ...(isOfProject && { relationships: { parent: { data: { type: 'projects', id: projectId } } } }),
      },
      {
        onSuccess: ({ data: { id } }) => {
          toast({ text: `${name} created` })
          go({ to: '/app/$organization/variable-sets/$set', params: { organization, set: id } })
        },
      },
    )
  }

  return (
    <Dialog
      title="New variable set"
      about={isOfProject ? `The set belongs to ${project} and applies only there.` : undefined}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create variable set" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-4">
        <TextField
          label="Name"
          {...text('name')}
          error={fieldError(create.error, 'name')}
          required
          maxLength={90}
          autoFocus
          autoComplete="off"
        />
        <TextArea
          label="Description (optional)"
          rows={2}
          {...text('description')}
          error={fieldError(create.error, 'description')}
        />
        <RadioField
          label="Applies to"
          name="scope"
          value={values.scope}
          onChange={(scope) => set({ scope })}
          options={scopeOptions(isOfProject)}
        />
        <CheckField label="Priority" hint={PRIORITY_HINT} {...check('priority')} />
        <FormErrors error={create.error} names={NAMES} />
      </form>
    </Dialog>
  )
}
