import { isEnded, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Check, FastForward, OctagonX, RotateCcw, Trash2 } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { ApiError } from '../../../api/client.ts'
import { Button } from '../../../components/button.tsx'
import { Confirm } from '../../../components/confirm.tsx'
import { ErrorNote } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { toast } from '../../../components/overlay-hosts.tsx'
import { Countdown, useSeconds } from '../../../components/time.tsx'
import { useDestroyedResources } from '../changes/plan-model.ts'
import { Override } from '../policies/policy-results.tsx'
import type { RunConfiguration } from '../run-commit.tsx'
import { runOptions } from '../run-text.ts'
import { rerun, type RunAction, type RunDocument, sendRunAction } from '../run.ts'
import { isCanceling, isLockedManually, isStalePlan } from './run-situation.ts'

const DONE = {
  apply: 'Plan approved',
  discard: 'Run discarded',
  cancel: 'Cancellation requested',
  'force-cancel': 'Run force-canceled',
  'force-execute': 'Run moved to the front of the queue',
} as const satisfies Record<RunAction, string>

export function RunActions({ document, onDone }: { document: RunDocument; onDone: () => void }) {
  const { run } = document
  const { status } = run.attributes
  const [conflict, setConflict] = useState<ApiError>()
  const act = (action: RunAction) => async (comment: string | undefined) => {
    setConflict(undefined)
    try {
      await sendRunAction(run.id, action, comment)
      toast({ text: DONE[action] })
    } catch (error) {
      // Another user acted first; the page is already up to date.
      if (!(error instanceof ApiError && error.status === 409)) throw error
      setConflict(error)
    }
    onDone()
  }
  return (
    <div data-run-actions className="flex flex-wrap gap-2 empty:hidden">
      {conflict && (
        <div className="w-full">
          <ErrorNote error={conflict} />
        </div>
      )}
      <ApplyAction document={document} act={act('apply')} />
      {document.stages.map((stage) => (
        <Override key={stage.id} stage={stage} />
      ))}
      <DiscardAction document={document} act={act('discard')} />
      <ForceExecuteAction document={document} act={act('force-execute')} />
      <CancelAction document={document} act={act('cancel')} />
      {isCanceling(run) && <ForceCancelAction document={document} act={act('force-cancel')} />}
      {(isEnded(status) || isStalePlan(run)) && <RerunAction document={document} />}
    </div>
  )
}

type ActionProps = { document: RunDocument; act: (comment: string | undefined) => Promise<void> }

/** A confirmation with a comment, whose buttons both have the label. */
function ActionConfirm(props: Omit<ComponentProps<typeof Confirm>, 'action' | 'comment'>) {
  return <Confirm action={props.label} comment="Comment" kind="plain" {...props} />
}

const MAX_ADDRESSES = 20

function ApplyAction({ document, act }: ActionProps) {
  const { run, plan, workspace } = document
  const { attributes } = run
  const destroyed = useDestroyedResources(run) ?? []
  if (!attributes.permissions['can-apply'] || attributes['plan-only'] || isEnded(attributes.status)) return null
  if (!attributes.actions['is-confirmable']) {
    if (attributes.status === 'post_plan_awaiting_decision') return null
    const isConfirmed = attributes['status-timestamps']['confirmed-at'] !== undefined
    if (isConfirmed || attributes['auto-apply'] || isStalePlan(run) || isCanceling(run)) return null
    return <Button kind="primary" icon={Check} reason="the plan is not finished" label="Confirm & apply" />
  }
  const name = workspace?.attributes.name ?? ''
  const count = plan?.attributes['resource-destructions'] ?? destroyed.length
  const destroys = attributes['is-destroy'] || (plan?.attributes['resource-destructions'] ?? 0) > 0
  const destroysAll = attributes['is-destroy'] && attributes['target-addrs'].length === 0
  const destruction = (
    <>
      <p>Destroys {counted(count, 'resource')}:</p>
      {destroyed.length > 0 && (
        <ul className="mt-1 list-disc pl-5 font-mono text-[0.9285em]">
          {destroyed.slice(0, MAX_ADDRESSES).map((address) => (
            <li key={address}>{address}</li>
          ))}
          {destroyed.length > MAX_ADDRESSES && (
            <li className="font-sans">and {(destroyed.length - MAX_ADDRESSES).toLocaleString('en')} more</li>
          )}
        </ul>
      )}
    </>
  )
  return (
    <ActionConfirm
      label="Confirm & apply"
      icon={Check}
      kind={destroys ? 'destroy' : 'primary'}
      title={`Apply the plan to ${name}?`}
      consequence={destroys ? destruction : 'The engine will make the planned changes.'}
      typedName={destroysAll ? name : undefined}
      onConfirm={act}
    />
  )
}

/** Discards a run that awaits a decision; a queued or active run is canceled instead. */
function DiscardAction({ document: { run }, act }: ActionProps) {
  const { actions, permissions, status } = run.attributes
  if (!actions['is-discardable'] || !permissions['can-discard'] || RUN_STATUS_TABLE[status].awaits !== 'decision')
    return null
  const text = 'The plan can then no longer be applied. Nothing will change.'
  return (
    <ActionConfirm label="Discard run" icon={Trash2} title="Discard this run?" consequence={text} onConfirm={act} />
  )
}

function ForceExecuteAction({ document, act }: ActionProps) {
  const { permissions, status } = document.run.attributes
  if (status !== 'pending' || !permissions['can-force-execute']) return null
  return (
    <ActionConfirm
      label="Run next"
      icon={FastForward}
      reason={isLockedManually(document) ? 'the workspace is locked; unlock it first' : undefined}
      title="Move this run to the front of the queue?"
      consequence="The runs ahead of it in this workspace are discarded or canceled."
      onConfirm={act}
    />
  )
}

function CancelAction({ document: { run }, act }: ActionProps) {
  const { actions, permissions, status } = run.attributes
  if (!actions['is-cancelable'] || !permissions['can-cancel'] || RUN_STATUS_TABLE[status].awaits === 'decision')
    return null
  const props = { label: 'Cancel run', icon: Ban, title: 'Cancel this run?', onConfirm: act }
  if (status !== 'applying') return <ActionConfirm {...props} consequence="Nothing is changed." />
  const consequence =
    'The engine finishes operations in progress and saves the state. Applied changes remain; the others are skipped.'
  return <ActionConfirm {...props} kind="danger" consequence={consequence} />
}

/** Kills the engine; available once a cancellation has had no effect for some time. */
function ForceCancelAction({ document: { run }, act }: ActionProps) {
  const now = useSeconds()
  const { actions, permissions } = run.attributes
  const from = run.attributes['force-cancel-available-at']
  if (from === null || !permissions['can-force-cancel']) return null
  // No event announces that the time has been reached.
  if (!actions['is-force-cancelable'] && new Date(from).getTime() > now) {
    const remaining = <Countdown to={from} />
    return <p className="w-full text-dim">Force-cancel is available in {remaining}</p>
  }
  return (
    <ActionConfirm
      label="Force-cancel run"
      icon={OctagonX}
      kind="danger"
      title="Force-cancel this run?"
      consequence="The engine is killed immediately. Its operations in progress may be missing from the state, which leaves resources unmanaged. The workspace is released for the next run."
      onConfirm={act}
    />
  )
}

function RerunAction({ document: { run, workspace, configuration } }: { document: RunDocument }) {
  const navigate = useNavigate()
  const { attributes } = run
  const permissions = workspace?.attributes.permissions
  const isDestroy = attributes['is-destroy']
  if (!permissions?.[isDestroy ? 'can-queue-destroy' : 'can-queue-run']) return null
  const isAutoApplied = attributes['auto-apply'] && attributes.permissions['can-apply']
  const options = runOptions({ ...attributes, 'auto-apply': isAutoApplied }).map(({ text }) => text)
  const organization = workspace?.relationships.organization.data?.id ?? ''
  const name = workspace?.attributes.name ?? ''
  return (
    <Confirm
      label={isStalePlan(run) ? 'New plan' : 'Re-run'}
      icon={RotateCcw}
      kind={isDestroy ? 'danger' : 'plain'}
      reason={configuration && rerunRefusal(configuration.attributes.status)}
      title="Re-run with the same configuration?"
      consequence={
        <>
          <p>
            Creates a {isDestroy && 'destroy '}run with the same options
            {options.length > 0 && `: ${options.join(', ')}`}.
          </p>
          <p>{isAutoApplied ? 'Applied automatically.' : attributes['plan-only'] ? 'Plan only.' : 'Needs approval.'}</p>
          {!permissions['can-read-variable'] && <p>Run variables are not repeated because you can’t read them.</p>}
        </>
      }
      typedName={isDestroy && isAutoApplied ? name : undefined}
      action="Re-run"
      onConfirm={async () => {
        const id = await rerun(run)
        toast({ text: 'Run created' })
        const params = { organization, workspace: name, run: id }
        await navigate({ to: '/app/$organization/workspaces/$workspace/runs/$run', params })
      }}
    />
  )
}

/** Why a configuration with the status cannot be planned again. */
function rerunRefusal(status: RunConfiguration['attributes']['status']) {
  if (status === 'uploaded') return undefined
  if (status === 'fetching') return 'its configuration has not been fetched yet'
  const cause = status === 'errored' ? 'could not be fetched or read' : 'was deleted'
  return `its configuration ${cause}; create a new run in the workspace`
}
