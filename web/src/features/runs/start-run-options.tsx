import { Plus, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { CheckField, fieldError, SelectField, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { Picker } from '../../components/picker.tsx'
import { findAddresses, type StartableWorkspace } from './start-run-queries.ts'
import { type NewRun, optionsOf, optionsSet } from './start-run.ts'
import type { VariableProblem } from './variable-problems.ts'

/** Everything beside the kind and the message; folded, since most runs need none of it. */
export function StartRunOptions({ workspace, run, problems, error, onChange }: StartRunOptionsProps) {
  const has = optionsOf(run)
  const count = optionsSet(run)
  const { attributes } = workspace
  return (
    <details open={problems.size > 0 || undefined} className="rounded-md border border-line">
      <summary className="px-3 py-2 font-medium">
        Options{count > 0 && <span className="ml-1.5 text-dim">{counted(count, 'option')} set</span>}
      </summary>
      <div className="space-y-4 border-t border-line px-3 py-3">
        <Addresses
          label="Only these targets"
          add="Add a target"
          workspaceId={workspace.id}
          addresses={run.targets}
          error={fieldError(error, 'target-addrs')}
          onChange={(targets) => onChange({ targets })}
        />
        {has.replace && (
          <Addresses
            label="Replace these resources"
            add="Add a resource"
            workspaceId={workspace.id}
            addresses={run.replaced}
            error={fieldError(error, 'replace-addrs')}
            onChange={(replaced) => onChange({ replaced })}
          />
        )}
        <Variables variables={run.variables} problems={problems} onChange={(variables) => onChange({ variables })} />
        {has.engineVersion && (
          <TextField
            label="Engine version"
            hint={`Another one than that of the workspace, which is ${attributes['engine-version']}.`}
            error={fieldError(error, 'engine-version')}
            value={run.engineVersion}
            onChange={({ target }) => onChange({ engineVersion: target.value })}
            autoComplete="off"
          />
        )}
        {has.autoApply && attributes.permissions['can-queue-apply'] && (
          <SelectField
            label="Apply by itself"
            options={[
              ['', `As the workspace says: ${attributes['auto-apply'] ? 'yes' : 'no'}`],
              ['yes', 'Yes, without asking anybody'],
              ['no', 'No, somebody approves the plan'],
            ]}
            value={run.autoApply}
            onChange={({ target }) => onChange({ autoApply: target.value as NewRun['autoApply'] })}
          />
        )}
        {has.savePlan && (
          <CheckField
            label="Save the plan for later"
            hint="It holds nobody back. Once the state has moved on it can no longer be applied."
            checked={run.savesPlan}
            onChange={({ target }) => onChange({ savesPlan: target.checked })}
          />
        )}
        {has.emptyApply && (
          <CheckField
            label="Allow an empty apply"
            hint="A plan without changes can be applied too, which writes a new version of the state."
            checked={run.allowsEmptyApply}
            onChange={({ target }) => onChange({ allowsEmptyApply: target.checked })}
          />
        )}
        {has.generate && (
          <CheckField
            label="Write configuration for imported resources"
            hint="Where an import block has no resource of its own yet, the plan shows one to copy."
            checked={run.generates}
            onChange={({ target }) => onChange({ generates: target.checked })}
          />
        )}
        {has.refresh && (
          <CheckField
            label="Read what there really is first"
            hint="Without it the plan trusts the state, which is quicker."
            checked={run.refreshes}
            onChange={({ target }) => onChange({ refreshes: target.checked })}
          />
        )}
        <CheckField
          label="Debugging mode"
          hint="The engine logs in full detail."
          checked={run.isDebugging}
          onChange={({ target }) => onChange({ isDebugging: target.checked })}
        />
      </div>
    </details>
  )
}

type StartRunOptionsProps = {
  workspace: StartableWorkspace
  run: NewRun
  /** What is wrong with variables, by their rows. */
  problems: ReadonlyMap<number, VariableProblem>
  error: Error | null
  onChange: (change: Partial<NewRun>) => void
}

/** Addresses of resources; those of the state are suggested, and any other can be written. */
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
          placeholder="An address"
          about={['resources', workspaceId]}
          load={async (text, signal) => findAddresses(workspaceId, text, signal)}
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange([...new Set([...addresses, value])])}
        />
      </div>
      {error !== undefined && (
        <p role="alert" className="mt-1 text-bad">
          {error}
        </p>
      )}
    </fieldset>
  )
}

type AddressesProps = {
  label: string
  /** The label of the button. */
  add: string
  workspaceId: string
  addresses: readonly string[]
  error: string | undefined
  onChange: (addresses: string[]) => void
}

function Variables({
  variables,
  problems,
  onChange,
}: {
  variables: NewRun['variables']
  problems: StartRunOptionsProps['problems']
  onChange: (variables: NewRun['variables']) => void
}) {
  const [last, setLast] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (last > 0) list.current?.querySelector<HTMLElement>(`[data-row="${last}"] input`)?.focus()
  }, [last])
  const set = (row: number, change: { key?: string; value?: string }) =>
    onChange(variables.map((variable) => (variable.row === row ? { ...variable, ...change } : variable)))
  return (
    <fieldset>
      <legend className="font-medium">Variables of this run alone</legend>
      <p className="text-dim">
        They win over those of the workspace. A value is HCL: <code>&quot;text&quot;</code>, <code>12</code>,{' '}
        <code>[&quot;a&quot;]</code>.
      </p>
      <div ref={list} className="mt-1 space-y-2">
        {variables.map(({ row, key, value }) => (
          <div
            key={row}
            data-row={row}
            className="grid grid-cols-[1fr_auto] items-start gap-2 sm:grid-cols-[1fr_2fr_auto]"
          >
            <TextField
              label="Name of the variable"
              isLabelHidden
              placeholder="name"
              error={problems.get(row)?.key}
              value={key}
              onChange={({ target }) => set(row, { key: target.value })}
              maxLength={255}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
            />
            <div className="max-sm:col-start-1 max-sm:row-start-2">
              <TextField
                label={`Value of ${key === '' ? 'the variable' : key}`}
                isLabelHidden
                placeholder='"value"'
                error={problems.get(row)?.value}
                value={value}
                onChange={({ target }) => set(row, { value: target.value })}
                className="font-mono"
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
              />
            </div>
            <div className="mt-1">
              <IconButton
                label={`Remove ${key === '' ? 'the variable' : key}`}
                icon={X}
                onClick={() => onChange(variables.filter((variable) => variable.row !== row))}
              />
            </div>
          </div>
        ))}
        <Button
          size="small"
          icon={Plus}
          onClick={() => {
            onChange([...variables, { row: last + 1, key: '', value: '' }])
            setLast(last + 1)
          }}
        >
          Add a variable
        </Button>
      </div>
    </fieldset>
  )
}
