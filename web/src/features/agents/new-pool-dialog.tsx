import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, FormErrors, RadioField, TextField, fieldError } from '../../components/form.tsx'
import { useGo, useLeaveDialog } from '../../components/links.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useCreateAgentPool } from './agent-pools.ts'
import { POOL_SCOPES } from './pool-scope.tsx'

const NAMES = ['name', 'organization-scoped']

export default function NewPoolDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const go = useGo()
  const leave = useLeaveDialog(onClose)
  const create = useCreateAgentPool(organization)
  const { values, set, text } = useDraft({ name: '', scope: 'organization' })

  function submit() {
    create.mutate(
      { name: values.name, 'organization-scoped': values.scope === 'organization' },
      {
        onSuccess: ({ data: { id } }) => {
          leave()
          go({
            to: '/app/$organization/agents/$pool',
            params: { organization, pool: id },
            search: values.scope === 'organization' ? { start: true } : { tab: 'scope' },
          })
        },
      },
    )
  }

  return (
    <FormDialog
      title="New agent pool"
      about="The page of the pool has the commands that start an agent."
      action="Create agent pool"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Letters, numbers, underscores and hyphens."
        placeholder="data-centre"
        {...text('name')}
        error={fieldError(create.error, 'name')}
        required
        autoFocus
        {...CODE_INPUT}
      />
      <RadioField
        label="Scope"
        name="scope"
        value={values.scope}
        onChange={(scope) => set({ scope })}
        options={POOL_SCOPES}
      />
      <FormErrors error={create.error} names={NAMES} />
    </FormDialog>
  )
}
