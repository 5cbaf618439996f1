import { RadioField, SelectField, TextField, fieldError } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { useAgentPools } from './new-workspace.ts'
import type { WorkspaceAttributes } from './workspace.ts'

export type Mode = WorkspaceAttributes['execution-mode']

export const MODES = {
  remote: { text: 'Remote', about: 'Runs execute on this server.' },
  agent: { text: 'Agent', about: 'Runs execute on agents in your own network.' },
  local: { text: 'Local', about: 'Runs execute on the machine of the CLI; only the state is stored here.' },
} as const satisfies Record<Mode, { text: string; about: string }>

/** `mode` is empty where the workspace inherits it. */
type Values = { mode: Mode | ''; poolId: string; engineVersion: string }

type ExecutionFieldsProps = {
  organization: string
  values: Values
  inherited: { text: string; about: string }
  /** Whether an empty engine version is the usual case. */
  isVersionOptional?: boolean
  error: Error | null
  onChange: (change: Partial<Values>) => void
}

export function ExecutionFields({ organization, values, inherited, error, onChange, ...props }: ExecutionFieldsProps) {
  const pools = useAgentPools(organization)
  const isUnavailable = pools.data ? pools.data.length === 0 : pools.error !== null
  return (
    <>
      <RadioField
        label="Execution mode"
        name="execution-mode"
        value={values.mode}
        onChange={(mode) => onChange({ mode: mode as Values['mode'] })}
        options={[
          { value: '', ...inherited },
          ...(Object.keys(MODES) as Mode[]).map((value) => ({
            value,
            ...MODES[value],
            ...(value === 'agent' &&
              values.mode !== 'agent' &&
              isUnavailable && { reason: 'No agent pools are available to you.' }),
          })),
        ]}
      />
      <FieldAlert text={fieldError(error, 'execution-mode')} />
      {values.mode === 'agent' && (
        <SelectField
          label="Agent pool"
          error={fieldError(error, 'agent-pool-id')}
          options={[
            ...(values.poolId === '' ? [['', 'Select a pool'] as const] : []),
            ...(pools.data ?? []).map(({ id, name, online }) => [id, `${name} (${online} online)`] as const),
          ]}
          value={values.poolId}
          onChange={({ target }) => onChange({ poolId: target.value })}
        />
      )}
      <TextField
        label={props.isVersionOptional ? 'Engine version (optional)' : 'Engine version'}
        hint={
          <>
            <code>latest</code>, a version such as <code>1.11.4</code>, or a constraint such as <code>~&gt; 1.11</code>.
            {props.isVersionOptional && ' By default, the agent uses its own version.'}
          </>
        }
        error={fieldError(error, 'engine-version') ?? fieldError(error, 'terraform-version')}
        value={values.engineVersion}
        onChange={({ target }) => onChange({ engineVersion: target.value })}
        autoComplete="off"
        spellCheck={false}
      />
    </>
  )
}
