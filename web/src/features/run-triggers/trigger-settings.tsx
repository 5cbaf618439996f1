import { Card, DescriptionList } from '../../components/card.tsx'
import { CheckField, fieldError } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../workspaces/settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from '../workspaces/workspace.ts'

const FLAGS = [
  {
    name: 'auto-apply-run-trigger',
    label: 'Auto-apply triggered runs',
    hint: 'The chain continues automatically: an apply here fires its own triggers in turn.',
  },
  {
    name: 'trigger-only-on-output-change',
    label: 'Only when outputs have changed',
    hint: 'An apply of a source starts a run only when outputs that this workspace reads are others than before.',
  },
] as const

/** How the workspace takes what triggers start. */
export function TriggerSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const draft = useDraft({
    'auto-apply-run-trigger': attributes['auto-apply-run-trigger'],
    'trigger-only-on-output-change': attributes['trigger-only-on-output-change'],
  })
  if (!attributes.permissions['can-update'])
    return (
      <Card title="Triggered runs">
        <DescriptionList facts={FLAGS.map(({ name, label }) => [label, attributes[name] ? 'yes' : 'no'])} />
      </Card>
    )
  return (
    <SettingsForm
      title="Triggered runs"
      names={FLAGS.map(({ name }) => name)}
      isDirty={draft.isDirty}
      onSave={async () => {
        await update.mutateAsync({ id: workspace.id, attributes: draft.changed })
        draft.reset()
      }}
      onReset={draft.reset}
      done="The settings are saved"
    >
      {(error) =>
        FLAGS.map(({ name, label, hint }) => (
          <CheckField
            key={name}
            label={label}
            hint={hint}
            checked={draft.values[name]}
            onChange={({ target }) => draft.set({ [name]: target.checked })}
            error={fieldError(error, name)}
          />
        ))
      }
    </SettingsForm>
  )
}
