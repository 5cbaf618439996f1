import { Plus, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../../../components/button.tsx'
import { CheckField, CODE_INPUT, fieldError, FieldMessage, SelectField, TextField } from '../../../components/form.tsx'
import { counted } from '../../../components/numbers.ts'
import { Picker } from '../../../components/picker.tsx'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { availableOptions, countOptions, findAddresses, type NewRun, type VariableError } from './new-run.ts'

type NewRunOptionsProps = {
  workspace: WorkspaceResource
  run: NewRun
  variableErrors: ReadonlyMap<number, VariableError>
  error: Error | null
  onChange: (change: Partial<NewRun>) => void
}

const FLAGS = {
  savePlan: ['Save plan', 'Does not block other runs. The plan becomes stale when the state changes.'],
  allowEmptyApply: ['Allow empty apply', 'A plan without changes can be applied, which creates a new state version.'],
  generateConfig: ['Generate configuration', 'For import blocks without a resource block; shown in the plan.'],
  refresh: ['Refresh state before planning', 'Without it, planning is faster but may miss external changes.'],
  debuggingMode: ['Debugging mode', 'The engine writes detailed logs.'],
} as const
type Flag = keyof typeof FLAGS

export function NewRunOptions({ workspace, run, variableErrors, error, onChange }: NewRunOptionsProps) {
  const has = availableOptions(run)
  const count = countOptions(run)
  const { attributes } = workspace
  const workspaceId = workspace.id
  return (
    <details open={variableErrors.size > 0 || undefined} className="rounded-md border border-line">
      <summary className="px-3 py-2 font-medium">
        Options{count > 0 && <span className="ml-1.5 text-dim">{counted(count, 'option')} set</span>}
      </summary>
      <div className="space-y-4 border-t border-line px-3 py-3">
        <Addresses
          label="Target resources"
          add="Add target"
          {...{ workspaceId, addresses: run.targets }}
          error={fieldError(error, 'target-addrs')}
          onChange={(targets) => onChange({ targets })}
        />
        {has.replace && (
          <Addresses
            label="Replace resources"
            add="Add resource"
            {...{ workspaceId, addresses: run.replacements }}
            error={fieldError(error, 'replace-addrs')}
            onChange={(replacements) => onChange({ replacements })}
          />
        )}
        <Variables {...run} errors={variableErrors} onChange={(variables) => onChange({ variables })} />
        {has.engineVersion && (
          <TextField
            label="Engine version"
            hint={`Default: ${attributes['engine-version']}, the version of the workspace`}
            error={fieldError(error, 'engine-version')}
            value={run.engineVersion}
            onChange={({ target }) => onChange({ engineVersion: target.value })}
            autoComplete="off"
          />
        )}
        {has.autoApply && attributes.permissions['can-queue-apply'] && (
          <SelectField
            label="Auto-apply"
            options={[
              ['', `Workspace default: ${attributes['auto-apply'] ? 'yes' : 'no'}`],
              ['yes', 'Yes'],
              ['no', 'No, the plan needs approval'],
            ]}
            value={run.autoApply}
            onChange={({ target }) => onChange({ autoApply: target.value as NewRun['autoApply'] })}
          />
        )}
        {(Object.entries(FLAGS) as [Flag, (typeof FLAGS)[Flag]][])
          .filter(([name]) => has[name])
          .map(([name, [label, hint]]) => (
            <CheckField
              key={name}
              label={label}
              hint={hint}
              checked={run[name]}
              onChange={({ target }) => onChange({ [name]: target.checked })}
            />
          ))}
      </div>
    </details>
  )
}

type AddressesProps = {
  label: string
  add: string
  workspaceId: string
  addresses: readonly string[]
  error: string | undefined
  onChange: (addresses: string[]) => void
}

/** A list of resource addresses; suggests those in the state and accepts any other. */
function Addresses({ label, add, workspaceId, addresses, error, onChange }: AddressesProps) {
  return (
    <fieldset>
      <legend className="font-medium">{label}</legend>
      {addresses.length > 0 && (
        <ul className="mt-1 space-y-1">
          {addresses.map((address) => (
            <li key={address} className="flex items-center gap-1">
              <code className="min-w-0">{address}</code>
              <IconButton
                label={`Remove ${address}`}
                icon={X}
                size="small"
                onClick={() => onChange(addresses.filter((other) => other !== address))}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="mt-1">
        <Picker
          label={add}
          icon={Plus}
          size="small"
          placeholder="Address"
          about={['resources', workspaceId]}
          load={async (text, signal) => findAddresses(workspaceId, text, signal)}
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange([...new Set([...addresses, value])])}
        />
      </div>
      <FieldMessage text={error} className="mt-1 text-bad" role="alert" />
    </fieldset>
  )
}

type VariablesProps = {
  variables: NewRun['variables']
  errors: NewRunOptionsProps['variableErrors']
  onChange: (variables: NewRun['variables']) => void
}

const VARIABLE_ROW = 'grid grid-cols-[1fr_auto] items-start gap-2 sm:grid-cols-[1fr_2fr_auto]'

function Variables({ variables, errors, onChange }: VariablesProps) {
  const [lastRow, setLastRow] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (lastRow > 0) list.current?.querySelector<HTMLElement>(`[data-row="${lastRow}"] input`)?.focus()
  }, [lastRow])
  const set = (row: number, change: { key?: string; value?: string }) =>
    onChange(variables.map((variable) => (variable.row === row ? { ...variable, ...change } : variable)))
  function add() {
    onChange([...variables, { row: lastRow + 1, key: '', value: '' }])
    setLastRow(lastRow + 1)
  }
  return (
    <fieldset>
      <legend className="font-medium">Run variables</legend>
      <p className="text-dim">
        Only for this run; they override all others. Values are HCL: <code>&quot;text&quot;</code>, <code>12</code>,{' '}
        <code>[&quot;a&quot;]</code>.
      </p>
      <div ref={list} className="mt-1 space-y-2">
        {variables.map(({ row, key, value }) => {
          const name = key === '' ? 'variable' : key
          return (
            <div key={row} data-row={row} className={VARIABLE_ROW}>
              <TextField
                label="Variable name"
                placeholder="name"
                error={errors.get(row)?.key}
                value={key}
                onChange={({ target }) => set(row, { key: target.value })}
                maxLength={255}
                isLabelHidden
                {...CODE_INPUT}
              />
              <div className="max-sm:col-start-1 max-sm:row-start-2">
                <TextField
                  label={`Value of ${name}`}
                  placeholder='"value"'
                  error={errors.get(row)?.value}
                  value={value}
                  onChange={({ target }) => set(row, { value: target.value })}
                  className="font-mono"
                  isLabelHidden
                  {...CODE_INPUT}
                />
              </div>
              <IconButton
                label={`Remove ${name}`}
                icon={X}
                className="mt-1 px-1.5"
                onClick={() => onChange(variables.filter((variable) => variable.row !== row))}
              />
            </div>
          )
        })}
        <Button size="small" icon={Plus} label="Add variable" onClick={add} />
      </div>
    </fieldset>
  )
}
