import type { CreateWorkspace } from '@groundstate/contract/workspaces'
import { includedOf } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CheckField, RadioField, SelectField, TextField, fieldError } from '../../components/form.tsx'
import { useAgentPools } from './new-workspace.ts'
import { SettingsForm, useDraft } from './settings-form.tsx'
import { type WorkspaceAttributes, type WorkspaceDocument, useOpenWorkspace, useUpdateWorkspace } from './workspace.ts'

type Mode = keyof typeof MODES
const INHERITED = 'inherited'

/** Yes or no, with the words that say it to those who may not change it. */
const FLAGS = [
  {
    name: 'auto-apply',
    label: 'Auto-apply',
    hint: 'Plans started by users are applied automatically unless a mandatory task fails.',
  },
  {
    name: 'auto-apply-run-trigger',
    label: 'Auto-apply triggered runs',
    hint: 'Those that an apply in another workspace has started.',
  },
  {
    name: 'allow-destroy-plan',
    label: 'Allow runs that destroy everything',
    hint: 'Without it no one can start a destroy run here.',
  },
  {
    name: 'structured-run-output-enabled',
    label: 'Structured output',
    hint: 'The engine tells what it does resource by resource, so that pages can show it. Without it there is its text alone.',
  },
] as const

const NAMES = [
  'execution-mode',
  'agent-pool-id',
  'engine-version',
  'terraform-version',
  'working-directory',
  ...FLAGS.map(({ name }) => name),
]

/** Execution mode, engine and auto-apply settings. */
export function ExecutionSettings() {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const pools = useAgentPools(organization)
  const inherited = inheritedMode(document)
  const draft = useDraft({
    mode: attributes['setting-overwrites']['execution-mode'] ? attributes['execution-mode'] : (INHERITED as string),
    pool: attributes['agent-pool-id'] ?? '',
    version: attributes['engine-version'],
    directory: attributes['working-directory'],
    'auto-apply': attributes['auto-apply'],
    'auto-apply-run-trigger': attributes['auto-apply-run-trigger'],
    'allow-destroy-plan': attributes['allow-destroy-plan'],
    'structured-run-output-enabled': attributes['structured-run-output-enabled'],
  })
  if (!attributes.permissions['can-update']) return <ExecutionFacts />

  const { values, changed } = draft
  const hasPools = (pools.data?.length ?? 0) > 0
  async function save() {
    await update.mutateAsync({ id: workspace.id, attributes: executionChanges(changed, values) })
    draft.reset()
  }
  return (
    <SettingsForm
      title="Execution"
      names={NAMES}
      isDirty={draft.isDirty}
      onSave={save}
      onReset={draft.reset}
      done="The settings are saved"
    >
      {(error) => (
        <>
          <RadioField
            label="Where runs execute"
            name="execution-mode"
            value={values.mode}
            onChange={(mode) => draft.set({ mode })}
            options={[
              {
                value: INHERITED,
                text: `As the ${inherited.from}: ${MODES[inherited.mode].text.toLowerCase()}`,
                about: `Follows when it changes there. ${MODES[inherited.mode].about}`,
              },
              ...(Object.keys(MODES) as Mode[]).map((mode) => ({
                value: mode,
                ...MODES[mode],
                reason:
                  mode === 'agent' && pools.isSuccess && !hasPools && values.mode !== 'agent'
                    ? 'The organization has no agent pool yet.'
                    : undefined,
              })),
            ]}
          />
          {fieldError(error, 'execution-mode') !== undefined && (
            <p role="alert" className="text-bad">
              {fieldError(error, 'execution-mode')}
            </p>
          )}
          {values.mode === 'agent' && (
            <SelectField
              label="Agent pool"
              value={values.pool}
              onChange={({ target }) => draft.set({ pool: target.value })}
              error={fieldError(error, 'agent-pool-id')}
              options={[
                ...(values.pool === '' ? [['', 'Choose a pool'] as const] : []),
                ...(pools.data ?? []).map(({ id, name, online }) => [id, `${name} (${online} online)`] as const),
              ]}
            />
          )}
          <TextField
            label="Engine version"
            hint={
              <>
                <code>latest</code>, a version such as <code>1.11.4</code>, or a constraint such as{' '}
                <code>~&gt; 1.11</code>.
              </>
            }
            value={values.version}
            onChange={({ target }) => draft.set({ version: target.value })}
            error={fieldError(error, 'engine-version') ?? fieldError(error, 'terraform-version')}
            autoComplete="off"
            spellCheck={false}
          />
          <TextField
            label="Working directory"
            hint="The directory of the configuration in which the engine runs; empty for its root."
            value={values.directory}
            onChange={({ target }) => draft.set({ directory: target.value })}
            error={fieldError(error, 'working-directory')}
            autoComplete="off"
            spellCheck={false}
          />
          {FLAGS.map(({ name, label, hint }) => (
            <CheckField
              key={name}
              label={label}
              hint={hint}
              checked={values[name]}
              onChange={({ target }) => draft.set({ [name]: target.checked })}
              error={fieldError(error, name)}
            />
          ))}
        </>
      )}
    </SettingsForm>
  )
}

type Values = {
  mode: string
  pool: string
  version: string
  directory: string
} & Record<(typeof FLAGS)[number]['name'], boolean>

/** The attributes of the request. The mode goes with its pool: the server takes one without the other for a mistake. */
function executionChanges(
  { mode, pool, version, directory, ...flags }: Partial<Values>,
  values: Values,
): Partial<CreateWorkspace['attributes']> {
  return {
    ...flags,
    ...(version !== undefined && { 'engine-version': version.trim() || null }),
    ...(directory !== undefined && { 'working-directory': directory.trim() }),
    ...(mode !== undefined || pool !== undefined
      ? values.mode === INHERITED
        ? { 'setting-overwrites': { 'execution-mode': false, 'agent-pool': false } }
        : {
            'execution-mode': values.mode as Mode,
            ...(values.mode === 'agent' && values.pool !== '' && { 'agent-pool-id': values.pool }),
          }
      : {}),
  }
}

/** The inherited execution mode and its source. */
function inheritedMode(document: WorkspaceDocument) {
  const project = includedOf(document).one('projects', document.data.relationships.project)
  if (!project) return { mode: document.data.attributes['execution-mode'], from: 'project' }
  const { name, 'default-execution-mode': mode, 'setting-overwrites': own } = project.attributes
  return { mode, from: own['default-execution-mode'] ? `project ${name}` : 'organization' }
}

function ExecutionFacts() {
  const { document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const pool = includedOf(document).one('agent-pools', relationships['agent-pool'])
  const isOwn = attributes['setting-overwrites']['execution-mode']
  const mode = MODES[attributes['execution-mode']].text
  return (
    <Card title="Execution">
      <DescriptionList
        facts={[
          ['Where', isOwn ? mode : `${mode}, from the ${inheritedMode(document).from}`],
          ['Agent pool', pool?.attributes.name],
          ['Engine version', <code key="version">{attributes['engine-version']}</code>],
          ['Directory', attributes['working-directory'] || 'the root of the configuration'],
          ...FLAGS.map(({ name, label }) => [label, attributes[name] ? 'yes' : 'no'] as const),
        ]}
      />
    </Card>
  )
}

/** Describes the execution mode. */
export const MODES = {
  remote: { text: 'Remote', about: 'Runs execute on this server.' },
  agent: { text: 'Agent', about: 'Runs execute on agents of a pool, in your own network.' },
  local: { text: 'Local', about: 'Runs execute where the CLI is; only the state is stored here.' },
} as const satisfies Record<WorkspaceAttributes['execution-mode'], { text: string; about: string }>
