import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { FormErrors, RadioField, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { ConnectCli } from '../workspaces/connect-cli.tsx'
import { ConfigurationFacts, DestroyNotice, WaitNotice } from './start-run-facts.tsx'
import { StartRunOptions } from './start-run-options.tsx'
import { type StartableWorkspace, useStartFacts, useStartRun } from './start-run-queries.ts'
import { NEW_RUN, type NewRun, type RunKind } from './start-run.ts'
import { type VariableProblem, variableProblems } from './variable-problems.ts'

type StartRunDialogProps = { workspace: StartableWorkspace; isOpen: boolean; onClose: () => void }

/** Starts a run with any option of the API, and leads to its page. */
export function StartRunDialog({ workspace, isOpen, onClose }: StartRunDialogProps) {
  // A dialog that is opened again is empty again.
  return isOpen ? <OpenDialog workspace={workspace} onClose={onClose} /> : null
}

function OpenDialog({ workspace, onClose }: Omit<StartRunDialogProps, 'isOpen'>) {
  const facts = useStartFacts(workspace.id)
  const failure = failureOf(facts)
  const form = useId()
  const start = useStartRun(workspace)
  const navigate = useNavigate()
  const [run, setRun] = useState(NEW_RUN)
  const organization = workspace.relationships.organization.data?.id ?? ''
  const { name } = workspace.attributes
  const isDestroy = run.kind === 'destroy'
  const canStart = facts.data?.configuration?.attributes.status === 'uploaded' && refusal(workspace) === undefined

  function submit(valid: NewRun) {
    start.mutate(valid, {
      onSuccess: ({ id }) => {
        toast({ text: isDestroy ? 'The plan of the destruction is started' : 'The run is started' })
        void navigate({
          to: '/app/$organization/workspaces/$workspace/runs/$run',
          params: { organization, workspace: name, run: id },
        })
      },
    })
  }

  return (
    <Dialog
      title={`Start a run in ${name}`}
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        canStart ? (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" form={form} kind={isDestroy ? 'destroy' : 'primary'} isPending={start.isPending}>
              {ACTIONS[run.kind]}
            </Button>
          </>
        ) : undefined
      }
    >
      {facts.isPending && <Skeleton rows={5} />}
      {failure && <ErrorNote {...failure} />}
      {facts.data &&
        !failure &&
        (canStart ? (
          <StartRunForm
            id={form}
            facts={facts.data}
            run={run}
            error={start.error}
            onChange={setRun}
            onSubmit={submit}
          />
        ) : (
          <NoStart workspace={workspace} organization={organization} configuration={facts.data.configuration} />
        ))}
    </Dialog>
  )
}

const ACTIONS = {
  apply: 'Start the run',
  plan: 'Start the plan',
  refresh: 'Start the refresh',
  destroy: 'Plan the destruction',
} as const satisfies Record<RunKind, string>

/** Why nobody, or not this person, can start a run here. */
function refusal({ attributes }: StartableWorkspace) {
  if (attributes['execution-mode'] === 'local')
    return 'The workspace has the execution mode local: its runs are made by the command line, on your machine.'
  if (!attributes.permissions['can-queue-run'])
    return 'You may not start runs in this workspace: an administrator of it can give your team the right to plan.'
  return undefined
}

type StartFacts = NonNullable<ReturnType<typeof useStartFacts>['data']>

function NoStart({
  workspace,
  organization,
  configuration,
}: {
  workspace: StartableWorkspace
  organization: string
  configuration: StartFacts['configuration']
}) {
  const reason = refusal(workspace)
  if (reason !== undefined) return <Notice>{reason}</Notice>
  return (
    <div className="space-y-4">
      <Notice>
        {configuration
          ? 'The configuration of this workspace is no longer there: its archive was deleted. Upload it again by a plan.'
          : 'A run needs a configuration, and this workspace has none yet. The command line uploads one with its first plan, which is a run already.'}
      </Notice>
      <ConnectCli organization={organization} workspace={workspace.attributes.name} />
    </div>
  )
}

const SHOWN_ERRORS = ['message', 'engine-version', 'target-addrs', 'replace-addrs']

function StartRunForm({ id, facts, run, error, onChange, onSubmit }: StartRunFormProps) {
  const { workspace } = facts
  const [problems, setProblems] = useState<ReadonlyMap<number, VariableProblem>>(new Map())
  const set = (change: Partial<NewRun>) => onChange({ ...run, ...change })
  const own = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // The dialog was open before the form was there.
    own.current?.querySelector<HTMLElement>('input:checked')?.focus()
  }, [])

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const found = await variableProblems(run.variables)
    setProblems(found)
    if (found.size === 0) return onSubmit(run)
    requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
    return undefined
  }

  return (
    <form ref={own} id={id} onSubmit={(event) => void submit(event)} className="space-y-4">
      <RadioField
        label="What it does"
        name="kind"
        value={run.kind}
        onChange={(kind) => set({ kind: kind as RunKind })}
        options={kindsOf(workspace)}
      />
      {run.kind === 'destroy' && <DestroyNotice workspace={workspace} targets={run.targets.length} />}
      <TextField
        label="Message (optional)"
        hint="Why it is started. It stands in the lists of runs."
        value={run.message}
        onChange={({ target }) => set({ message: target.value })}
        maxLength={10_000}
        autoComplete="off"
      />
      <StartRunOptions workspace={workspace} run={run} problems={problems} error={error} onChange={set} />
      <ConfigurationFacts workspace={workspace} configuration={facts.configuration} />
      <WaitNotice facts={facts} kind={run.kind} />
      <FormErrors error={error} names={SHOWN_ERRORS} />
    </form>
  )
}

type StartRunFormProps = {
  id: string
  facts: StartFacts
  run: NewRun
  error: Error | null
  onChange: (run: NewRun) => void
  onSubmit: (run: NewRun) => void
}

function kindsOf({ attributes }: StartableWorkspace) {
  const { permissions } = attributes
  const destroyReason = !permissions['can-queue-destroy']
    ? 'You may not start a destruction in this workspace.'
    : attributes['allow-destroy-plan']
      ? undefined
      : 'The settings of the workspace do not allow destroy plans.'
  const approval = attributes['auto-apply'] && permissions['can-queue-apply'] ? 'by itself' : 'once it is approved'
  return [
    { value: 'apply', text: 'Plan and apply', about: `The plan is applied ${approval}.` },
    {
      value: 'plan',
      text: 'Plan only',
      about: 'Shows what would change. It waits for nobody and can never be applied.',
    },
    {
      value: 'refresh',
      text: 'Refresh only',
      about: 'Brings the state up to what there really is, and changes nothing there.',
    },
    { value: 'destroy', text: 'Destroy', about: 'Plans to destroy all resources.', reason: destroyReason },
  ]
}
