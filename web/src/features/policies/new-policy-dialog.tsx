import { FormDialog } from '../../components/form-dialog.tsx'
import { CODE_INPUT, FormErrors, RadioField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { useGo, useLeaveDialog } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { EXAMPLE_CODE, EXAMPLE_QUERY, LEVEL_OPTIONS } from './example.ts'
import { useCreatePolicy } from './policies.ts'

const NAMES = ['name', 'description', 'query', 'enforcement-level']

/** A new single policy with its Rego. */
export default function NewPolicyDialog({ organization, onClose }: { organization: string; onClose: () => void }) {
  const go = useGo()
  const leave = useLeaveDialog(onClose)
  const create = useCreatePolicy(organization)
  const { values, set, text } = useDraft({
    name: '',
    description: '',
    query: EXAMPLE_QUERY,
    level: 'advisory',
    code: EXAMPLE_CODE,
  })
  const submit = () =>
    create.mutate(values, {
      onSuccess: ({ id }) => {
        toast({ text: `${values.name} created` })
        leave()
        go({ to: '/app/$organization/policies/$policy', params: { organization, policy: id } })
      },
    })
  return (
    <FormDialog
      title="New policy"
      action="Create policy"
      isPending={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        {...text('name')}
        error={fieldError(create.error, 'name')}
        required
        maxLength={255}
        autoFocus
        {...CODE_INPUT}
      />
      <TextField
        label="Description (optional)"
        {...text('description')}
        error={fieldError(create.error, 'description')}
        autoComplete="off"
      />
      <RadioField
        label="Level"
        name="level"
        value={values.level}
        onChange={(level) => set({ level })}
        options={LEVEL_OPTIONS}
      />
      <TextField
        label="Query"
        hint="What OPA evaluates. An empty list passes; each element is a failure."
        className="font-mono"
        {...text('query')}
        error={fieldError(create.error, 'query')}
        {...CODE_INPUT}
      />
      <TextArea label="Code (Rego)" rows={12} className="font-mono" {...text('code')} {...CODE_INPUT} />
      <FormErrors error={create.error} names={NAMES} />
    </FormDialog>
  )
}
