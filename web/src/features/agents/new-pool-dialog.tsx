import { type FormEvent, useId } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CODE_INPUT, FormErrors, RadioField, TextField, fieldError } from '../../components/form.tsx'
import { useGo } from '../../components/links.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { useCreateAgentPool } from './agent-pools.ts'
import { POOL_SCOPES } from './pool-scope.tsx'

const NAMES = ['name', 'organization-scoped']

export default function NewPoolDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const form = useId()
  const go = useGo()
  const create = useCreateAgentPool(organization)
  const { values, set, text } = useDraft({ name: '', scope: 'organization' })

  function submit(event: FormEvent) {
    event.preventDefault()
    create.mutate(
      { name: values.name, 'organization-scoped': values.scope === 'organization' },
      {
        onSuccess: ({ data: { id } }) =>
          go({
            to: '/app/$organization/agents/$pool',
            params: { organization, pool: id },
            search: values.scope === 'organization' ? { start: true } : { tab: 'scope' },
          }),
      },
    )
  }

  return (
    <Dialog
      title="New agent pool"
      about="The page of the pool has the commands that start an agent."
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create agent pool" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} onSubmit={submit} className="space-y-4">
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
      </form>
    </Dialog>
  )
}
