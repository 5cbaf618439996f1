import { RadioField, TextField } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { DAYS, policyText, useRetention, useSetRetention } from './retention.ts'
import { useOpenWorkspace } from './workspace.ts'

export function RetentionSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { data: owner } = useOrganization(organization)
  const relation = workspace.relationships['data-retention-policy']
  const days = useRetention('workspaces', workspace.id, relation)
  const inherited = useRetention('organizations', organization, owner?.relationships['data-retention-policy'])
  const set = useSetRetention('workspaces', workspace.id, organization)
  const kind = relation.data === null ? 'inherit' : days === null ? 'keep' : 'delete'
  const draft = useDraft<{ kind: string; days: string }>({ kind, days: days ? String(days) : '30' })
  const { values } = draft
  const isDirty = values.kind !== kind || (values.kind === 'delete' && draft.changed.days !== undefined)
  return (
    <SettingsForm
      title="Data retention"
      // The endpoint requires permission to delete the workspace.
      readOnly={
        !workspace.attributes.permissions['can-destroy'] &&
        (kind === 'inherit' ? `${policyText(inherited)} (inherited from organization).` : `${policyText(days)}.`)
      }
      about="How long old state versions and configurations are kept. The current ones are never deleted."
      names={[DAYS]}
      draft={{ ...draft, isDirty }}
      onSave={async () =>
        set.mutateAsync(values.kind === 'inherit' ? 'inherit' : values.kind === 'keep' ? null : Number(values.days))
      }
    >
      <RadioField
        label="Retention policy"
        name="retention"
        value={values.kind}
        onChange={(selected) => draft.set({ kind: selected })}
        options={[
          { value: 'inherit', text: 'Inherit from organization', about: `${policyText(inherited)}.` },
          { value: 'keep', text: 'Keep forever', about: 'Nothing is deleted.' },
          { value: 'delete', text: 'Delete after a number of days', about: 'Older data is deleted permanently.' },
        ]}
      />
      {values.kind === 'delete' && (
        <TextField label="Days" type="number" min={1} className="w-28!" {...draft.text('days', DAYS)} />
      )}
    </SettingsForm>
  )
}
