import type { CreateWorkspace } from '@groundstate/contract/workspaces'
import { includedOf } from '../../api/queries.ts'
import { DescriptionList } from '../../components/card.tsx'
import { CheckField, TextField } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { ExecutionFields, MODES, type Mode } from './execution-fields.tsx'
import { type WorkspaceDocument, useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'

/** Attribute, label and hint. */
const FLAGS = [
  ['auto-apply', 'Auto-apply', 'Plans started by users are applied automatically unless a mandatory task fails.'],
  [
    'auto-apply-run-trigger',
    'Auto-apply triggered runs',
    'Applies to runs that an apply in another workspace started.',
  ],
  ['allow-destroy-plan', 'Allow destroy runs', 'If off, runs that destroy all resources are rejected.'],
  [
    'structured-run-output-enabled',
    'Structured run output',
    'The engine reports progress per resource. If off, runs show only the text of the log.',
  ],
] as const

const NAMES = [
  'execution-mode',
  'agent-pool-id',
  'engine-version',
  'terraform-version',
  'working-directory',
  ...FLAGS.map(([name]) => name),
]

export function ExecutionSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const inherited = inheritedMode(document)
  const draft = useDraft<Values>({
    mode: attributes['setting-overwrites']['execution-mode'] ? attributes['execution-mode'] : '',
    poolId: attributes['agent-pool-id'] ?? '',
    engineVersion: attributes['engine-version'],
    directory: attributes['working-directory'],
    'auto-apply': attributes['auto-apply'],
    'auto-apply-run-trigger': attributes['auto-apply-run-trigger'],
    'allow-destroy-plan': attributes['allow-destroy-plan'],
    'structured-run-output-enabled': attributes['structured-run-output-enabled'],
  })
  return (
    <SettingsForm
      title="Execution"
      readOnly={!attributes.permissions['can-update'] && <ReadOnly />}
      names={NAMES}
      draft={draft}
      onSave={async () =>
        update.mutateAsync({ id: workspace.id, attributes: executionChanges(draft.changed, draft.values) })
      }
    >
      <ExecutionFields
        organization={organization}
        values={draft.values}
        inherited={{
          text: `Inherit from ${inherited.from}: ${MODES[inherited.mode].text.toLowerCase()}`,
          about: `Follows changes there. ${MODES[inherited.mode].about}`,
        }}
        error={draft.error}
        onChange={draft.set}
      />
      <TextField
        label="Working directory"
        hint="Directory in the configuration where the engine runs; the root if empty."
        {...draft.text('directory', 'working-directory')}
        autoComplete="off"
        spellCheck={false}
      />
      {FLAGS.map(([name, label, hint]) => (
        <CheckField key={name} label={label} hint={hint} {...draft.check(name)} />
      ))}
    </SettingsForm>
  )
}

type Values = { mode: Mode | ''; poolId: string; engineVersion: string; directory: string } & Record<
  (typeof FLAGS)[number][0],
  boolean
>

/** The attributes to update. The mode and its pool are sent together, since the server rejects one without the other. */
function executionChanges(
  { mode, poolId, engineVersion, directory, ...flags }: Partial<Values>,
  values: Values,
): Partial<CreateWorkspace['attributes']> {
  const isModeChanged = mode !== undefined || poolId !== undefined
  const hasPool = values.mode === 'agent' && values.poolId !== ''
  return {
    ...flags,
    ...(engineVersion !== undefined && { 'engine-version': engineVersion.trim() || null }),
    ...(directory !== undefined && { 'working-directory': directory.trim() }),
    ...(isModeChanged &&
      values.mode === '' && { 'setting-overwrites': { 'execution-mode': false, 'agent-pool': false } }),
    ...(isModeChanged && values.mode !== '' && { 'execution-mode': values.mode }),
    ...(isModeChanged && hasPool && { 'agent-pool-id': values.poolId }),
  }
}

function inheritedMode(document: WorkspaceDocument) {
  const project = includedOf(document).one('projects', document.data.relationships.project)
  if (!project) return { mode: document.data.attributes['execution-mode'], from: 'project' }
  const { name, 'default-execution-mode': mode, 'setting-overwrites': overwrites } = project.attributes
  return { mode, from: overwrites['default-execution-mode'] ? `project ${name}` : 'organization' }
}

function ReadOnly() {
  const { document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const pool = includedOf(document).one('agent-pools', relationships['agent-pool'])
  const mode = MODES[attributes['execution-mode']].text
  const isInherited = !attributes['setting-overwrites']['execution-mode']
  return (
    <DescriptionList
      facts={[
        ['Execution mode', isInherited ? `${mode} (inherited from ${inheritedMode(document).from})` : mode],
        ['Agent pool', pool?.attributes.name],
        ['Engine version', <code key="version">{attributes['engine-version']}</code>],
        ['Working directory', attributes['working-directory'] || 'root of the configuration'],
        ...FLAGS.map(([name, label]) => [label, attributes[name] ? 'Yes' : 'No'] as const),
      ]}
    />
  )
}
