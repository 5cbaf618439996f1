import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { CheckField, TextArea, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { AFFECTED, PRIORITY_HINT, type VariableSet, scopeText, useUpdateVariableSet } from './variable-sets.ts'

export function SetSettings({ organization, set }: { organization: string; set: VariableSet }) {
  const { name, description, priority, permissions, 'var-count': count } = set.attributes
  const update = useUpdateVariableSet(set.id)
  const remove = useDeleteAndLeave()
  const draft = useDraft({ name, description, priority })
  return (
    <div className="max-w-4xl space-y-4">
      <SettingsForm
        title="General"
        readOnly={
          !permissions['can-update'] && (
            <DescriptionList
              facts={[
                ['Name', name],
                ['Description', description || 'none'],
                ['Priority', priority ? 'Yes' : 'No'],
              ]}
            />
          )
        }
        names={['name', 'description', 'priority']}
        draft={draft}
        onSave={async () => update.mutateAsync(draft.changed)}
      >
        <TextField label="Name" {...draft.text('name')} maxLength={90} autoComplete="off" />
        <TextArea label="Description" rows={2} {...draft.text('description')} maxLength={4000} />
        <CheckField label="Priority" hint={PRIORITY_HINT} {...draft.check('priority')} />
      </SettingsForm>
      {permissions['can-update'] && (
        <Card title="Delete variable set" tone="bad" about={`It applies to: ${scopeText(set).toLowerCase()}.`}>
          <Confirm
            label="Delete variable set"
            icon={Trash2}
            title={`Delete ${name}?`}
            consequence={`Its ${counted(count, 'variable')} can’t be recovered. The next runs of the workspaces won’t have ${count === 1 ? 'it' : 'them'}.`}
            typedName={count > 0 ? name : undefined}
            action={`Delete ${name}`}
            onConfirm={async () =>
              remove({
                path: `/varsets/${set.id}`,
                name,
                target: { to: '/app/$organization/variable-sets', params: { organization } },
                own: ['varsets', set.id],
                affected: AFFECTED,
              })
            }
          />
        </Card>
      )}
    </div>
  )
}
