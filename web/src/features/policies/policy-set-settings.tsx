import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { DocsLink } from '../../components/docs-link.tsx'
import { CODE_INPUT, CheckField, TextArea, TextField } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { OVERRIDABLE_HINT } from './new-set-dialog.tsx'
import { POLICY_SETS, type PolicySet, scopeText, useUpdatePolicySet } from './policy-sets.ts'

const NAMES = [
  'name',
  'description',
  'overridable',
  'policy-tool-version',
  'policies-path',
  /^\/data\/attributes\/policy-update-patterns/,
]

type SettingsProps = { organization: string; set: PolicySet }

export function PolicySetSettings({ organization, set }: SettingsProps) {
  const { attributes } = set
  const update = useUpdatePolicySet(set.id)
  const isOfRepository = attributes['vcs-repo'] !== null
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description,
    overridable: attributes.overridable,
    version: attributes['policy-tool-version'],
    path: attributes['policies-path'] ?? '',
    patterns: attributes['policy-update-patterns'].join('\n'),
  })
  async function save() {
    const { version, path, patterns, ...rest } = draft.changed
    return update.mutateAsync({
      ...rest,
      ...(version !== undefined && { 'policy-tool-version': version.trim() }),
      ...(path !== undefined && { 'policies-path': path.trim() }),
      ...(patterns !== undefined && {
        'policy-update-patterns': patterns
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      }),
    })
  }
  const readOnly = !attributes.permissions['can-update'] && (
    <DescriptionList
      facts={[
        ['Description', attributes.description || 'none'],
        ['Overrides', attributes.overridable ? 'allowed for those permitted to' : 'not allowed'],
        ['OPA version', attributes['policy-tool-version']],
        ['Directory', attributes['policies-path'] ?? 'the root'],
      ]}
    />
  )
  return (
    <div className="max-w-4xl space-y-4">
      <SettingsForm title="General" readOnly={readOnly} names={NAMES} draft={draft} onSave={save}>
        <TextField label="Name" {...draft.text('name')} maxLength={255} autoComplete="off" />
        <TextArea label="Description" rows={2} {...draft.text('description')} />
        <CheckField label="Can be overridden" hint={OVERRIDABLE_HINT} {...draft.check('overridable')} />
        <TextField
          label="OPA version"
          hint="A version that the administrators of the site have added, or latest."
          {...draft.text('version', 'policy-tool-version')}
          {...CODE_INPUT}
        />
        <TextField
          label="Directory"
          hint="The directory of policies.hcl in the next versions; the root if empty."
          {...draft.text('path', 'policies-path')}
          {...CODE_INPUT}
        />
        {isOfRepository && (
          <TextArea
            label="Paths that make a version"
            hint="Patterns, one a line. Without any, changes below the directory count."
            className="font-mono"
            {...draft.text('patterns', 'policy-update-patterns')}
            {...CODE_INPUT}
          />
        )}
      </SettingsForm>
      {attributes.permissions['can-update'] && <Deletion organization={organization} set={set} />}
      <p className="text-dim">
        <DocsLink page="policies">How policies are evaluated</DocsLink>
      </p>
    </div>
  )
}

function Deletion({ organization, set }: SettingsProps) {
  const remove = useDeleteAndLeave()
  const { name } = set.attributes
  return (
    <Card title="Delete policy set" tone="bad" about={`It applies to: ${scopeText(set).toLowerCase()}.`}>
      <Confirm
        label="Delete policy set"
        icon={Trash2}
        title={`Delete ${name}?`}
        consequence="Its versions and parameters can’t be recovered, and runs are no longer checked by it."
        typedName={name}
        action={`Delete ${name}`}
        onConfirm={async () =>
          remove({
            path: `/policy-sets/${set.id}`,
            name,
            target: { to: '/app/$organization/policies', params: { organization } },
            own: [POLICY_SETS, set.id],
            affected: [[POLICY_SETS], ['policies']],
          })
        }
      />
    </Card>
  )
}
