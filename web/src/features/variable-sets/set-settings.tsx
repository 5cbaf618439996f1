import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CheckField, TextArea, TextField } from '../../components/form.tsx'
import { useGo } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import {
  PRIORITY_HINT,
  type VariableSet,
  scopeText,
  useDeleteVariableSet,
  useUpdateVariableSet,
} from './variable-sets.ts'

export function SetSettings({ organization, set }: { organization: string; set: VariableSet }) {
  const { name, description, priority, permissions, 'var-count': count } = set.attributes
  const update = useUpdateVariableSet(set.id)
  const remove = useDeleteVariableSet()
  const go = useGo()
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
            onConfirm={async () => {
              await remove.mutateAsync(set.id)
              toast({ text: `${name} deleted` })
              go({ to: '/app/$organization/variable-sets', params: { organization } })
            }}
          />
        </Card>
      )}
    </div>
  )
}
