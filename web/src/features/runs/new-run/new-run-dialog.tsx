import { FINAL_STATUSES } from '@groundstate/contract/run-status'
import { useNavigate } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { Button, buttonClass } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { loaded, Notice } from '../../../components/feedback.tsx'
import { FormErrors, RadioField, TextField } from '../../../components/form.tsx'
import { useLeaveDialog, WorkspaceLink } from '../../../components/links.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { RelativeTime } from '../../../components/time.tsx'
import { ConnectCli } from '../../workspaces/connect-cli.tsx'
import { lockReason } from '../../workspaces/lock-holder.ts'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { isFetched } from '../run-commit.tsx'
import { RunLink } from '../run-navigation.tsx'
import { NewRunOptions } from './new-run-options.tsx'
import type { NewRun, NewRunContext, RunKind, VariableError } from './new-run.ts'
import { NEW_RUN, useCreateRun, useNewRunContext, useRunOfConfiguration, variableErrors } from './new-run.ts'

type NewRunDialogProps = {
  workspace: WorkspaceResource
  isOpen: boolean
  /** The kind that is selected at first. */
  kind?: RunKind
  onClose: () => void
}

export function NewRunDialog({ isOpen, ...props }: NewRunDialogProps) {
  // Unmounting a closed dialog resets its form.
  return isOpen ? <OpenDialog {...props} /> : null
}

function OpenDialog({ workspace, kind = NEW_RUN.kind, onClose }: Omit<NewRunDialogProps, 'isOpen'>) {
  const { data: context, fallback } = loaded(useNewRunContext(workspace.id), { rows: 5 })
  const id = useId()
  const create = useCreateRun(workspace)
  const navigate = useNavigate()
  const leave = useLeaveDialog(onClose)
  const [run, setRun] = useState({ ...NEW_RUN, kind })
  const organization = workspace.relationships.organization.data?.id ?? ''
  const { name } = workspace.attributes
  const isDestroy = run.kind === 'destroy'
  // Without a configuration, the server fetches the one of the repository.
  const hasConfiguration = context?.configuration
    ? context.configuration.attributes.status === 'uploaded'
    : workspace.attributes['vcs-repo'] !== null
  const canCreate = hasConfiguration && refusal(workspace) === undefined

  function submit(valid: NewRun) {
    create.mutate(valid, {
      onSuccess: (created) => {
        toast({ text: isDestroy ? 'Destroy run created' : 'Run created' })
        const params = { organization, workspace: name, run: created.id }
        leave()
        void navigate({ to: '/app/$organization/workspaces/$workspace/runs/$run', params })
      },
    })
  }

  const footer = canCreate && (
    <>
      <Button label="Cancel" onClick={onClose} />
      <Button
        type="submit"
        form={id}
        kind={isDestroy ? 'destroy' : 'primary'}
        isPending={create.isPending}
        label={isDestroy ? 'Plan destroy' : 'Create run'}
      />
    </>
  )
  return (
    <Dialog title={`New run in ${name}`} isOpen onClose={onClose} width="max-w-2xl" footer={footer || undefined}>
      {!context && fallback}
      {context && !canCreate && <CannotCreate workspace={workspace} isDeleted={context.configuration !== undefined} />}
      {context && canCreate && (
        <NewRunForm {...{ id, context, run }} error={create.error} onChange={setRun} onSubmit={submit} />
      )}
    </Dialog>
  )
}

function refusal({ attributes }: WorkspaceResource) {
  if (attributes['execution-mode'] === 'local')
    return 'The execution mode of this workspace is local: the CLI plans and applies on your machine.'
  if (!attributes.permissions['can-queue-run'])
    return 'You don’t have permission to create runs in this workspace. A workspace administrator can grant your team plan access.'
  return undefined
}

function CannotCreate({ workspace, isDeleted }: { workspace: WorkspaceResource; isDeleted: boolean }) {
  const reason = refusal(workspace)
  if (reason !== undefined) return <Notice>{reason}</Notice>
  const organization = workspace.relationships.organization.data?.id ?? ''
  return (
    <div className="space-y-4">
      <Notice>
        {isDeleted
          ? 'The configuration of this workspace was deleted. The next plan of the CLI uploads it again.'
          : 'A run needs a configuration, and this workspace has none yet. The CLI uploads one with its first plan.'}
      </Notice>
      <UploadLink workspace={workspace.attributes.name} className={buttonClass()} />
      <ConnectCli organization={organization} workspace={workspace.attributes.name} />
    </div>
  )
}

/** Opens the upload of a configuration in place of this dialog. */
function UploadLink({ workspace, className }: { workspace: string; className: string }) {
  return (
    <WorkspaceLink workspace={workspace} search={{ upload: true }} className={className}>
      <Upload size={16} />
      Upload configuration
    </WorkspaceLink>
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
      <ConfigurationSummary context={context} />
      <QueueNotice context={context} kind={run.kind} />
      <FormErrors error={error} names={FIELDS_WITH_ERRORS} />
    </form>
  )
}

function kindOptions({ attributes }: WorkspaceResource) {
  const { permissions } = attributes
  const isAutoApplied = attributes['auto-apply'] && permissions['can-queue-apply']
  const apply = isAutoApplied ? 'Applied automatically.' : 'Applied once the plan is approved.'
  const plan = 'Previews the changes. Does not wait in the queue and can’t be applied.'
  const refresh = 'Updates the state to match the infrastructure, which is not changed.'
  const disabled = attributes['allow-destroy-plan']
    ? undefined
    : 'Destroy plans are disabled in the workspace settings.'
  const reason = permissions['can-queue-destroy'] ? disabled : 'You don’t have permission to destroy in this workspace.'
  return [
    { value: 'apply', text: 'Plan and apply', about: apply },
    { value: 'plan', text: 'Plan only', about: plan },
    { value: 'refresh', text: 'Refresh only', about: refresh },
    { value: 'destroy', text: 'Destroy', about: 'Plans to destroy all resources.', reason },
  ]
}

type DestroyNoticeProps = { workspace: WorkspaceResource; targetCount: number }

function DestroyNotice({ workspace: { attributes }, targetCount }: DestroyNoticeProps) {
  const count = attributes['resource-count']
  const all = count === 1 ? 'the only resource' : `all ${count} resources`
  return (
    <Notice tone="bad">
      This run plans to destroy {targetCount > 0 ? 'the selected targets and their dependents' : all} in{' '}
      {attributes.name}. Nothing is destroyed until a user approves the plan
      {attributes['auto-apply'] && ', even though auto-apply is enabled'}.
    </Notice>
  )
}

type Source = NonNullable<NewRunContext['configuration']>['attributes']['source']
const SOURCES: Record<Source, string> = {
  'tfe-api': 'API',
  terraform: 'CLI',
  'terraform+cloud': 'CLI',
  github: 'GitHub',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
  ado: 'Azure DevOps',
  gitea: 'Gitea',
  git: 'git',
}

function ConfigurationSummary({ context: { workspace, configuration } }: { context: NewRunContext }) {
  const repository = workspace.attributes['vcs-repo']
  if (!configuration)
    return (
      <p className="text-dim">
        The configuration is fetched from {repository?.['display-identifier']},{' '}
        {repository?.branch ? `branch ${repository.branch}` : 'default branch'}.
      </p>
    )
  const { id, attributes } = configuration
  return (
    <section aria-label="Configuration" className="rounded-md border border-line bg-ground px-3 py-2">
      <p>
        <span className="font-medium">Configuration</span> <code>{id}</code>
      </p>
      <p className="mt-1 float-right">
        <UploadLink workspace={workspace.attributes.name} className={buttonClass({ size: 'small' })} />
      </p>
      <p className="text-dim">
        {isFetched(configuration) ? 'fetched from' : 'uploaded via'} {SOURCES[attributes.source]}{' '}
        <RelativeTime at={attributes['created-at']} />
        <LatestRun workspace={workspace.attributes.name} versionId={id} />
      </p>
    </section>
  )
}

function LatestRun({ workspace, versionId }: { workspace: string; versionId: string }) {
  const { data } = useRunOfConfiguration(versionId)
  if (!data) return null
  return (
    <>
      , last used{data.author !== undefined && ` by ${data.author}`} for{' '}
      <RunLink workspace={workspace} run={data.run} className="text-accent underline" />
    </>
  )
}

/** The runs that will block the new run. Plan-only runs are never blocked. */
function QueueNotice({ context, kind }: { context: NewRunContext; kind: RunKind }) {
  const { workspace, currentRun, holder } = context
  if (kind === 'plan') return null
  if (holder && holder.kind !== 'run')
    return <Notice tone="warn">The run will wait: the workspace is {lockReason(holder, workspace.attributes)}</Notice>
  if (!currentRun || FINAL_STATUSES.includes(currentRun.attributes.status)) return null
  return (
    <Notice tone="warn">
      The run will be queued behind{' '}
      <RunLink workspace={workspace.attributes.name} run={currentRun} className="underline" />
    </Notice>
  )
}
