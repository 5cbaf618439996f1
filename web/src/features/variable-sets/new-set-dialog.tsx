import { FormDialog } from '../../components/form-dialog.tsx'
import { CheckField, FormErrors, RadioField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { useGo, useLeaveDialog } from '../../components/links.tsx'
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
  const go = useGo()
  const leave = useLeaveDialog(onClose)
  const create = useCreateVariableSet(organization)
  const { data: project = 'the project' } = useProjectName(projectId)
  const isOfProject = projectId !== undefined
  const { values, set, text, check } = useDraft({
    name: '',
    description: '',
    scope: isOfProject ? 'global' : 'selected',
    priority: false,
  })

  function submit() {
    const { name, description, scope, priority } = values
    create.mutate(
      {
        attributes: { name, description, priority, global: scope === 'global' },
        ...(isOfProject && { relationships: { parent: { data: { type: 'projects', id: projectId } } } }),
      },
      {
        onSuccess: ({ data: { id } }) => {
          toast({ text: `${name} created` })
          leave()
          go({ to: '/app/$organization/variable-sets/$set', params: { organization, set: id } })
        },
      },
    )
  }

  return (
    <FormDialog
      title="New variable set"
      about={isOfProject ? `The set belongs to ${project} and applies only there.` : undefined}
      action="Create variable set"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
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
    </FormDialog>
  )
}
