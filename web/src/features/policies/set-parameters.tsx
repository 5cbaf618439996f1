import { Pencil, Plus, SlidersHorizontal, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { CODE_INPUT, CheckField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { InlineForm, useInlineForm } from '../../components/inline-form.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type Parameter, useDeleteParameter, useParameters, useSaveParameter } from './parameters.ts'
import type { PolicySet } from './policy-sets.ts'

/** Values that the policies read as `data.parameters`. */
export function SetParameters({ set }: { set: PolicySet }) {
  const mayChange = set.attributes.permissions['can-update']
  const { data, fallback } = loaded(useParameters(set.id))
  const { isOpen, opener, open, close: closeForm } = useInlineForm()
  const [edited, setEdited] = useState<Parameter>()
  const remove = useDeleteParameter(set.id)
  if (!data) return fallback
  const close = (done?: string) => {
    setEdited(undefined)
    closeForm(done)
  }
  const columns: readonly Column<Parameter>[] = [
    { header: 'Key', cell: ({ attributes }) => <code className="break-all">{attributes.key}</code> },
    {
      header: 'Value',
      cell: ({ attributes }) =>
        attributes.sensitive ? (
          <Badge tone="warn" text="sensitive" />
        ) : (
          <span className="font-mono break-all whitespace-pre-wrap">{attributes.value}</span>
        ),
    },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'w-px text-right',
      cell: (row) =>
        mayChange && (
          <RowMenu
            label={`Actions for ${row.attributes.key}`}
            actions={[
              { text: 'Edit', icon: Pencil, onSelect: () => setEdited(row) },
              {
                text: 'Delete',
                icon: Trash2,
                confirm: {
                  title: `Delete ${row.attributes.key}?`,
                  consequence: 'Policies that read it get no value in the next evaluations.',
                  action: `Delete ${row.attributes.key}`,
                  done: `${row.attributes.key} deleted`,
                  onConfirm: async () => remove.mutateAsync(row.id),
                },
              },
            ]}
          />
        ),
    },
  ]
  const add = mayChange && <Button ref={opener} label="Add parameter" kind="primary" icon={Plus} onClick={open} />
  return (
    <div className="max-w-4xl space-y-4">
      {isOpen || edited ? (
        <ParameterForm key={edited?.id ?? 'new'} setId={set.id} parameter={edited} onClose={close} />
      ) : (
        data.length > 0 && add
      )}
      {data.length === 0 && !isOpen ? (
        <EmptyState icon={SlidersHorizontal} title="No parameters yet" actions={add}>
          <p>
            Parameters let policies be reused with other limits. A policy reads <code>data.parameters.KEY</code>.
          </p>
        </EmptyState>
      ) : (
        data.length > 0 && <Table label={`Parameters of ${set.attributes.name}`} rows={data} columns={columns} />
      )}
    </div>
  )
}

type FormProps = { setId: string; parameter: Parameter | undefined; onClose: (done?: string) => void }

function ParameterForm({ setId, parameter, onClose }: FormProps) {
  const save = useSaveParameter(setId)
  const { key = '', value, sensitive = false } = parameter?.attributes ?? {}
  const draft = useDraft({ key, value: value ?? '', sensitive })
  const { values, changed } = draft
  return (
    <InlineForm
      action="Save parameter"
      mutation={save}
      names={['key', 'value', 'sensitive']}
      onSubmit={() =>
        save.mutate(
          { id: parameter?.id, ...(parameter ? changed : values) },
          { onSuccess: () => onClose(`${values.key} saved`) },
        )
      }
      onCancel={() => onClose()}
    >
      <TextField
        label="Key"
        {...draft.text('key')}
        error={fieldError(save.error, 'key')}
        required
        autoFocus
        className="font-mono"
        {...CODE_INPUT}
      />
      <TextArea
        label="Value"
        rows={2}
        hint={sensitive ? 'Leave it empty to keep the current value.' : undefined}
        {...draft.text('value')}
        error={fieldError(save.error, 'value')}
        className="font-mono"
        {...CODE_INPUT}
      />
      <CheckField
        label="Sensitive"
        hint="Write-only, and masked in results."
        {...draft.check('sensitive')}
        error={fieldError(save.error, 'sensitive')}
        disabled={sensitive}
      />
    </InlineForm>
  )
}
