import { isEnded, RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Check, FastForward, OctagonX, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { useSeconds } from '../../components/time.tsx'
import { useDestroyedResources } from './changes/plan-json.ts'
import { Countdown } from './countdown.tsx'
import { isCanceling, isDestroying, isLockedByPerson, isOutdated } from './decision-words.ts'
import { runOptions } from './run-words.ts'
import { type RunAction, type RunDocument, runAgain, useRunAction } from './run.ts'

type Props = { document: RunDocument; onDone: () => void }

const DONE = {
  apply: 'The plan is approved',
  discard: 'The run is discarded',
  cancel: 'The run is told to stop',
  'force-cancel': 'The run is ended by force',
  'force-execute': 'The run is next',
} as const satisfies Record<RunAction, string>

/** What the person may do with the run now. */
export function DecisionActions({ document, onDone }: Props) {
  const { run } = document
  const { status } = run.attributes
  const send = useRunAction(run.id)
  const [refusal, setRefusal] = useState<ApiError>()
  const act = (action: RunAction) => async (comment: string | undefined) => {
    setRefusal(undefined)
    try {
      await send(action, comment)
      toast({ text: DONE[action] })
    } catch (error) {
      // Somebody else was first: the page shows by now what is, and the question is void. The refusal stays in sight.
      if (!(error instanceof ApiError && error.status === 409)) throw error
      setRefusal(error)
    }
    onDone()
  }
  return (
    <div className="flex flex-wrap gap-2 empty:hidden">
      {refusal && (
        <div className="w-full">
          <ErrorNote error={refusal} />
        </div>
      )}
      <ApplyAction document={document} act={act('apply')} />
      <DiscardAction document={document} act={act('discard')} />
      <ForceExecuteAction document={document} act={act('force-execute')} />
      <CancelAction document={document} act={act('cancel')} />
      {isCanceling(run) && <ForceCancelAction document={document} act={act('force-cancel')} />}
      {(isEnded(status) || isOutdated(run)) && <RunAgainAction document={document} />}
    </div>
  )
}

type ActionProps = { document: RunDocument; act: (comment: string | undefined) => Promise<void> }

const MOST_NAMES = 20

function ApplyAction({ document, act }: ActionProps) {
  const { run, plan, workspace } = document
  const { attributes } = run
  const destroyed = useDestroyedResources(run)
  if (!attributes.permissions['can-apply'] || attributes['plan-only'] || isEnded(attributes.status)) return null
  if (!attributes.actions['is-confirmable']) {
    const isPast = attributes['status-timestamps']['confirmed-at'] !== undefined
    if (isPast || attributes['auto-apply'] || isOutdated(run) || isCanceling(run)) return null
    return (
      <Button kind="primary" icon={Check} reason="there is no plan to apply yet">
        Apply
      </Button>
    )
  }
  const name = workspace?.attributes.name ?? ''
  const destroys = isDestroying(document)
  const count = plan?.attributes['resource-destructions'] ?? destroyed?.length ?? 0
  const isAll = attributes['is-destroy'] && attributes['target-addrs'].length === 0
  return (
    <Confirm
      label="Apply"
      icon={Check}
      kind={destroys ? 'destroy' : 'primary'}
      title={`Apply the plan to ${name}?`}
      consequence={
        destroys ? (
          <>
            <p>It destroys {counted(count, 'resource')}:</p>
            {destroyed && destroyed.length > 0 && (
              <ul className="mt-1 list-disc pl-5 font-mono text-[0.9285em]">
                {destroyed.slice(0, MOST_NAMES).map((address) => (
                  <li key={address}>{address}</li>
                ))}
                {destroyed.length > MOST_NAMES && (
                  <li className="font-sans">and {(destroyed.length - MOST_NAMES).toLocaleString('en')} more</li>
                )}
              </ul>
            )}
          </>
        ) : (
          'The engine makes the changes of the plan.'
        )
      }
      typedName={isAll ? name : undefined}
      comment="Comment"
      action={destroys ? 'Apply and destroy' : 'Confirm and apply'}
      onConfirm={act}
    />
  )
}

/** A run that waits for a decision; what is under way or in line is canceled instead. */
function DiscardAction({ document: { run }, act }: ActionProps) {
  const { actions, permissions, status } = run.attributes
  if (!actions['is-discardable'] || !permissions['can-discard'] || !awaitsDecision(status)) return null
  return (
    <Confirm
      label="Discard"
      icon={Trash2}
      kind="plain"
      title="Discard the run?"
      consequence="Its plan can not be applied any more. Nothing is changed."
      comment="Comment"
      action="Discard the run"
      onConfirm={act}
    />
  )
}

function awaitsDecision(status: RunStatus) {
  return RUN_STATUS_TABLE[status].awaits === 'decision'
}

function ForceExecuteAction({ document, act }: ActionProps) {
  const { permissions, status } = document.run.attributes
  if (status !== 'pending' || !permissions['can-force-execute']) return null
  return (
    <Confirm
      label="Run it next"
      icon={FastForward}
      kind="plain"
      reason={isLockedByPerson(document) ? 'the workspace is locked: unlock it first' : undefined}
      title="Run it before all others?"
      consequence="The runs before it in the workspace are discarded or canceled."
      comment="Comment"
      action="Run it next"
      onConfirm={act}
    />
  )
}

function CancelAction({ document: { run }, act }: ActionProps) {
  const { actions, permissions, status } = run.attributes
  if (!actions['is-cancelable'] || !permissions['can-cancel'] || awaitsDecision(status)) return null
  const consequence =
    status === 'applying'
      ? 'The engine ends what it has begun and stores the state. What is applied by then stays; the rest is not done.'
      : 'Nothing is changed by it.'
  return (
    <Confirm
      label="Cancel"
      icon={Ban}
      kind={status === 'applying' ? 'danger' : 'plain'}
      title="Cancel the run?"
      consequence={consequence}
      comment="Comment"
      action="Cancel the run"
      onConfirm={act}
    />
  )
}

/** The last resort, when a cancel has had no effect for some time. */
function ForceCancelAction({ document: { run }, act }: ActionProps) {
  const now = useSeconds()
  const { actions, permissions } = run.attributes
  const from = run.attributes['force-cancel-available-at']
  if (from === null || !permissions['can-force-cancel']) return null
  // Nothing changes in the run when the time has come, so that no signal tells it.
  if (!actions['is-force-cancelable'] && new Date(from).getTime() > now) {
    return (
      <p className="w-full text-dim">
        If nothing happens, it can be canceled by force in <Countdown to={from} />.
      </p>
    )
  }
  return (
    <Confirm
      label="Cancel by force"
      icon={OctagonX}
      kind="danger"
      title="End the run by force?"
      consequence="The engine is killed at once. What it was doing may not get into the state: resources may be left that no state knows, and the workspace is free for the next run."
      comment="Comment"
      action="End it by force"
      onConfirm={act}
    />
  )
}

function RunAgainAction({ document: { run, workspace, configuration } }: { document: RunDocument }) {
  const navigate = useNavigate()
  const { attributes } = run
  const permissions = workspace?.attributes.permissions
  const isDestroy = attributes['is-destroy']
  if (!permissions?.[isDestroy ? 'can-queue-destroy' : 'can-queue-run']) return null
  const isAutomatic = attributes['auto-apply'] && attributes.permissions['can-apply']
  const options = runOptions({ ...attributes, 'auto-apply': isAutomatic }).map(({ text }) => text)
  const isGone = configuration !== undefined && configuration.attributes.status !== 'uploaded'
  const organization = workspace?.relationships.organization.data?.id ?? ''
  const name = workspace?.attributes.name ?? ''
  const label = isOutdated(run) ? 'Make a new plan' : 'Run again'
  return (
    <Confirm
      label={label}
      icon={RotateCcw}
      kind={isDestroy ? 'danger' : 'plain'}
      reason={isGone ? 'its configuration has been deleted: start a new run in the workspace' : undefined}
      title="Start the same run again?"
      consequence={
        <>
          <p>
            A new run with the same configuration
            {isDestroy && ', which destroys'}
            {options.length > 0 && ` (${options.join(', ')})`}.
          </p>
          <p>
            {isAutomatic ? 'It applies by itself.' : attributes['plan-only'] ? 'It only plans.' : 'It needs approval.'}
          </p>
          {!permissions['can-read-variable'] && (
            <p>Variables of this run alone are not repeated: you may not read them.</p>
          )}
        </>
      }
      typedName={isDestroy && isAutomatic ? name : undefined}
      action="Start the run"
      onConfirm={async () => {
        const id = await runAgain(run)
        toast({ text: 'The run is started' })
        await navigate({
          to: '/app/$organization/workspaces/$workspace/runs/$run',
          params: { organization, workspace: name, run: id },
        })
      }}
    />
  )
}
