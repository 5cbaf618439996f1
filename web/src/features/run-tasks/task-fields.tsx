import type { ReactNode } from 'react'
import { DocsLink } from '../../components/docs-link.tsx'
import { CODE_INPUT, CheckField, RadioField, SelectField, TextArea, TextField } from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { errorAt, type useDraft } from '../../components/settings-form.tsx'
import { useAgentPools } from '../workspaces/new-workspace.ts'
import { type TaskValues, selectedStages } from './task-form.ts'
import { LEVELS, type Level, STAGES, STAGE_NAMES } from './workspace-tasks.ts'

type Draft<Names extends keyof TaskValues> = ReturnType<typeof useDraft<Pick<TaskValues, Names>>>

export const POOL_POINTER = /^\/data\/relationships\/agent-pool/
export const GLOBAL_POINTER = /^\/data\/attributes\/global-configuration/

type GeneralNames = 'name' | 'description'

export function GeneralFields({ draft }: { draft: Draft<GeneralNames> }) {
  return (
    <>
      <TextField label="Name" {...draft.text('name')} {...CODE_INPUT} />
      <TextField label="Description (optional)" {...draft.text('description')} autoComplete="off" />
    </>
  )
}

type ReceiverNames = 'url' | 'key' | 'isKeyRemoved' | 'certificate' | 'poolId'

/** The receiver's address and how requests reach it. `children` follow the key. */
export function ReceiverFields({ organization, draft, hasKey = false }: ReceiverFieldsProps) {
  const pools = useAgentPools(organization)
  const { poolId } = draft.values
  const known = pools.data ?? []
  return (
    <>
      <TextField
        label="URL"
        type="url"
        placeholder="https://checks.example.com/terraform"
        {...draft.text('url')}
        {...CODE_INPUT}
      />
      <TextField
        label={hasKey ? 'New HMAC key' : 'HMAC key (optional)'}
        type="password"
        autoComplete="new-password"
        placeholder={hasKey ? 'Unchanged' : ''}
        hint={keyHint(hasKey)}
        disabled={draft.values.isKeyRemoved}
        {...draft.text('key', 'hmac-key')}
      />
      {hasKey && (
        <CheckField
          label="Remove the key"
          hint="Requests will no longer be signed."
          checked={draft.values.isKeyRemoved}
          onChange={({ target }) => draft.set({ isKeyRemoved: target.checked, ...(target.checked && { key: '' }) })}
        />
      )}
      <SelectField
        label="Sent by"
        hint={
          <>
            Agents reach receivers in their own network.{' '}
            <DocsLink page="run-tasks" anchor="send-requests-from-your-own-network">
              How it works
            </DocsLink>
          </>
        }
        value={poolId}
        onChange={({ target }) => draft.set({ poolId: target.value })}
        options={[
          ['', 'This server'],
          ...(poolId !== '' && !known.some(({ id }) => id === poolId) ? [[poolId, poolId] as const] : []),
          ...known.map(({ id, name, online }) => [id, `Agent pool ${name} (${online} online)`] as const),
        ]}
        error={errorAt(draft.error, '/data/relationships/agent-pool')}
      />
      <TextArea
        label="CA certificate (optional)"
        hint="PEM, if the receiver’s certificate is signed by a private authority."
        className="font-mono"
        {...draft.text('certificate', 'ca-certificate')}
        {...CODE_INPUT}
      />
    </>
  )
}

type ReceiverFieldsProps = { organization: string; draft: Draft<ReceiverNames>; hasKey?: boolean }

function keyHint(hasKey: boolean): ReactNode {
  return (
    <>
      {hasKey ? 'A key is set. It' : 'Signs each request. It'} can’t be shown again.{' '}
      <DocsLink page="run-tasks" anchor="check-the-signature">
        Check the signature
      </DocsLink>
    </>
  )
}

type GlobalNames = 'isGlobal' | 'level' | (typeof STAGE_NAMES)[number]

export function GlobalFields({ draft }: { draft: Draft<GlobalNames> }) {
  const { isGlobal, level } = draft.values
  return (
    <>
      <CheckField
        label="Run in every workspace"
        hint="In addition to the workspaces to which it is attached."
        {...draft.check('isGlobal')}
      />
      {isGlobal && (
        <>
          <fieldset>
            <legend className="font-medium">Stages</legend>
            <div className="mt-1 space-y-1.5">
              {STAGE_NAMES.map((stage) => (
                <CheckField
                  key={stage}
                  label={STAGES[stage].text}
                  hint={STAGES[stage].about}
                  {...draft.check(stage)}
                  error={undefined}
                />
              ))}
            </div>
          </fieldset>
          <RadioField
            label="Enforcement level"
            name="global-level"
            value={level}
            onChange={(value) => draft.set({ level: value })}
            options={(Object.keys(LEVELS) as Level[]).map((value) => ({ value, ...LEVELS[value] }))}
          />
        </>
      )}
      <FieldAlert text={errorAt(draft.error, '/data/attributes/global-configuration')} />
    </>
  )
}

/** Why the global configuration cannot be saved. */
export function globalProblem(values: Pick<TaskValues, GlobalNames>) {
  return values.isGlobal && selectedStages(values).length === 0 ? 'select at least one stage' : undefined
}
