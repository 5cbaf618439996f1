import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { failureOf } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { ErrorNote, Notice, Skeleton } from '../../../components/feedback.tsx'
import { FormErrors, RadioField, TextField } from '../../../components/form.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { ConnectCli } from '../../workspaces/connect-cli.tsx'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { ConfigurationSummary, DestroyNotice, QueueNotice } from './new-run-notices.tsx'
import { NewRunOptions } from './new-run-options.tsx'
import { type NewRunContext, useCreateRun, useNewRunContext } from './new-run-queries.ts'
import { NEW_RUN, type NewRun, type RunKind, type VariableError, variableErrors } from './new-run.ts'

type NewRunDialogProps = { workspace: WorkspaceResource; isOpen: boolean; onClose: () => void }

/** Creates a run with any option of the API and opens its page. */
export function NewRunDialog({ isOpen, ...props }: NewRunDialogProps) {
  // Unmounting a closed dialog resets its form.
  return isOpen ? <OpenDialog {...props} /> : null
}

function OpenDialog({ workspace, onClose }: Omit<NewRunDialogProps, 'isOpen'>) {
  const context = useNewRunContext(workspace.id)
  const failure = failureOf(context)
  const form = useId()
  const create = useCreateRun(workspace)
  const navigate = useNavigate()
  const [run, setRun] = useState(NEW_RUN)
  const organization = workspace.relationships.organization.data?.id ?? ''
  const { name } = workspace.attributes
  const isDestroy = run.kind === 'destroy'
  const canCreate = context.data?.configuration?.attributes.status === 'uploaded' && refusal(workspace) === undefined

  function submit(valid: NewRun) {
    create.mutate(valid, {
      onSuccess: ({ id }) => {
        toast({ text: isDestroy ? 'Destroy run created' : 'Run created' })
        void navigate({
          to: '/app/$organization/workspaces/$workspace/runs/$run',
          params: { organization, workspace: name, run: id },
        })
      },
    })
  }

  return (
    <Dialog
      title={`New run in ${name}`}
      isOpen
      onClose={onClose}
      width="max-w-2xl"
      footer={
        canCreate ? (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" form={form} kind={isDestroy ? 'destroy' : 'primary'} isPending={create.isPending}>
              {isDestroy ? 'Plan destroy' : 'Create run'}
            </Button>
          </>
        ) : undefined
      }
    >
      {context.isPending && <Skeleton rows={5} />}
      {failure && <ErrorNote {...failure} />}
      {context.data &&
        !failure &&
        (canCreate ? (
          <NewRunForm
            id={form}
            context={context.data}
            run={run}
            error={create.error}
            onChange={setRun}
            onSubmit={submit}
          />
        ) : (
          <CannotCreate workspace={workspace} isDeleted={context.data.configuration !== undefined} />
        ))}
    </Dialog>
  )
}

/** Why the user cannot create runs in the workspace. */
function refusal({ attributes }: WorkspaceResource) {
  if (attributes['execution-mode'] === 'local')
    return 'The execution mode of this workspace is local: the CLI plans and applies on your machine.'
  if (!attributes.permissions['can-queue-run'])
    return 'You do not have permission to create runs in this workspace. A workspace administrator can grant your team plan access.'
  return undefined
}

function CannotCreate({ workspace, isDeleted }: { workspace: WorkspaceResource; isDeleted: boolean }) {
  const reason = refusal(workspace)
  if (reason !== undefined) return <Notice>{reason}</Notice>
  return (
    <div className="space-y-4">
      <Notice>
        {isDeleted
          ? 'The configuration of this workspace was deleted. The next plan of the CLI uploads it again.'
          : 'A run needs a configuration, and this workspace has none yet. The CLI uploads one with its first plan.'}
      </Notice>
      <ConnectCli
        organization={workspace.relationships.organization.data?.id ?? ''}
        workspace={workspace.attributes.name}
      />
    </div>
  )
}

const FIELDS_WITH_ERRORS = ['message', 'engine-version', 'target-addrs', 'replace-addrs']

type NewRunFormProps = {
  id: string
  context: NewRunContext
  run: NewRun
  error: Error | null
  onChange: (run: NewRun) => void
  onSubmit: (run: NewRun) => void
}

function NewRunForm({ id, context, run, error, onChange, onSubmit }: NewRunFormProps) {
  const { workspace } = context
  const [errors, setErrors] = useState<ReadonlyMap<number, VariableError>>(new Map())
  const set = (change: Partial<NewRun>) => onChange({ ...run, ...change })
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // The dialog opened before the form was loaded.
    form.current?.querySelector<HTMLElement>('input:checked')?.focus()
  }, [])

  async function submit(event: FormEvent) {
    event.preventDefault()
    const invalid = await variableErrors(run.variables)
    setErrors(invalid)
    if (invalid.size === 0) return onSubmit(run)
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
    return undefined
  }

  return (
    <form ref={form} id={id} onSubmit={(event) => void submit(event)} className="space-y-4">
      <RadioField
        label="Run type"
        name="kind"
        value={run.kind}
        onChange={(kind) => set({ kind: kind as RunKind })}
        options={kindOptions(workspace)}
      />
      {run.kind === 'destroy' && <DestroyNotice workspace={workspace} targetCount={run.targets.length} />}
      <TextField
        label="Message (optional)"
        hint="The title of the run"
        value={run.message}
        onChange={({ target }) => set({ message: target.value })}
        maxLength={10_000}
        autoComplete="off"
      />
      <NewRunOptions workspace={workspace} run={run} variableErrors={errors} error={error} onChange={set} />
      <ConfigurationSummary workspace={workspace} configuration={context.configuration} />
      <QueueNotice context={context} kind={run.kind} />
      <FormErrors error={error} names={FIELDS_WITH_ERRORS} />
    </form>
  )
}

function kindOptions({ attributes }: WorkspaceResource) {
  const { permissions } = attributes
  const isAutoApplied = attributes['auto-apply'] && permissions['can-queue-apply']
  const destroyReason = !permissions['can-queue-destroy']
    ? 'You do not have permission to destroy in this workspace.'
    : attributes['allow-destroy-plan']
      ? undefined
      : 'Destroy plans are disabled in the workspace settings.'
  return [
    {
      value: 'apply',
      text: 'Plan and apply',
      about: isAutoApplied ? 'Applied automatically.' : 'Applied once the plan is approved.',
    },
    {
      value: 'plan',
      text: 'Plan only',
      about: 'Previews the changes. Does not wait in the queue and cannot be applied.',
    },
    {
      value: 'refresh',
      text: 'Refresh only',
      about: 'Updates the state to match the infrastructure, which is not changed.',
    },
    { value: 'destroy', text: 'Destroy', about: 'Plans to destroy all resources.', reason: destroyReason },
  ]
}
