import type { DocumentOnWire } from '@groundstate/contract/responses'
import { isEnded, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { runDecidersSchema } from '@groundstate/contract/runs'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Check, ChevronDown, ChevronUp, FastForward, OctagonX, RotateCcw, Trash2 } from 'lucide-react'
import { type ComponentProps, useId, useRef, useState } from 'react'
import { ApiError, get } from '../../../api/client.ts'
import { includedOf } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { Confirm } from '../../../components/confirm.tsx'
import { ErrorNote } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { toast } from '../../../components/overlay-hosts.tsx'
import { PlanCounts } from '../../../components/plan-counts.tsx'
import { TONE_TEXT } from '../../../components/status.tsx'
import { Countdown, useSeconds } from '../../../components/time.tsx'
import { useDestroyedResources } from '../changes/plan-model.ts'
import { TabLink } from '../run-navigation.tsx'
import { RunStatus, planCounts } from '../run-status.tsx'
import { runOptions } from '../run-text.ts'
import { rerun, type RunAction, type RunDocument, type TaskStage, useRunAction } from '../run.ts'
import { resultStyle } from '../tasks/tasks-tab.tsx'
import {
  destroysResources,
  isCanceling,
  isLockedManually,
  isStalePlan,
  requiredFromOthers,
  runSituation,
} from './run-situation.ts'

/** The status and actions of a run: a side panel, or an expandable bar at the bottom of a narrow screen. */
export function ApprovalPanel({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages } = document
  const { attributes } = run
  const id = useId()
  const [isOpen, setIsOpen] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const needsUser = attributes.actions['is-confirmable'] && attributes.permissions['can-apply']
  const required = requiredFromOthers(document)

  function onDone() {
    // The focused button disappears in the first frame; the second one finds the focus lost.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (globalThis.document.activeElement === globalThis.document.body) heading.current?.focus()
      }),
    )
  }

  return (
    <aside
      aria-labelledby={id}
      className="border-line bg-paper max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-20 max-lg:border-t max-lg:shadow-lg md:max-lg:left-56 lg:sticky lg:top-16 lg:max-h-[calc(100dvh-5rem)] lg:overflow-y-auto lg:rounded-lg lg:border"
    >
      <div className="flex items-center gap-3 px-4 py-2.5">
        <h2 id={id} ref={heading} tabIndex={-1} className="sr-only">
          Approval
        </h2>
        <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
          <RunStatus run={attributes} />
          <Counts plan={plan} apply={apply} />
        </span>
        <span className="lg:hidden">
          <Button
            kind={needsUser && !isOpen ? 'primary' : 'plain'}
            icon={isOpen ? ChevronDown : ChevronUp}
            label={isOpen ? 'Close' : needsUser ? 'Review' : 'Details'}
            aria-expanded={isOpen}
            aria-controls={`${id}-details`}
            onClick={() => setIsOpen(!isOpen)}
          />
        </span>
      </div>
      <div
        id={`${id}-details`}
        className={`flex flex-col gap-4 border-t border-line px-4 pt-3 pb-4 max-lg:max-h-[70dvh] max-lg:overflow-y-auto ${isOpen ? '' : 'max-lg:hidden'}`}
      >
        <p>{runSituation(document)}</p>
        {stages.some(({ results }) => results.length > 0) && <TaskResults stages={stages} />}
        {required !== undefined && <Deciders runId={run.id} action={required} />}
        <RunActions document={document} onDone={onDone} />
      </div>
    </aside>
  )
}

/** The planned changes; after the apply those that were made, since it may have stopped early. */
function Counts({ plan, apply }: Pick<RunDocument, 'plan' | 'apply'>) {
  const applied = apply?.attributes
  if (applied && applied['resource-additions'] !== null && applied.status !== 'pending') {
    const { 'resource-additions': added, 'resource-changes': changed, 'resource-destructions': destroyed } = applied
    return <span className="numeric text-dim">{`${added} added, ${changed} changed, ${destroyed} destroyed`}</span>
  }
  if (!plan) return null
  const counts = <PlanCounts counts={planCounts(plan)} />
  if (applied?.status !== 'errored' && applied?.status !== 'canceled') return counts
  return <span className="text-dim">planned {counts}</span>
}

function TaskResults({ stages }: { stages: readonly TaskStage[] }) {
  const results = stages
    .filter(({ attributes }) => !['pending', 'unreachable'].includes(attributes.status))
    .flatMap((stage) => stage.results.map((result) => ({ ...resultStyle(result), result, stageId: stage.id })))
  return (
    <div>
      <h3 className="mb-1 text-dim">Run tasks</h3>
      <ul>
        {results.map(({ result, stageId, tone, icon: Icon, text }) => (
          <li key={result.id}>
            <TabLink
              search={{ part: 'tasks' }}
              hash={stageId}
              className="-mx-1 flex items-start gap-1.5 rounded px-1 py-1 no-underline hover:bg-hover"
            >
              <Icon size={15} className={`mt-0.5 shrink-0 ${TONE_TEXT[tone]}`} />
              <span className="min-w-0 flex-1">{result.attributes['task-name']}</span>
              <span className={TONE_TEXT[tone]}>{text}</span>
            </TabLink>
          </li>
        ))}
      </ul>
    </div>
  )
}

const DECIDERS = {
  approve: { relation: 'may-apply', include: 'may_apply.users', title: 'Who can approve' },
  unlock: { relation: 'may-force-unlock', include: 'may_force_unlock.users', title: 'Who can unlock' },
} as const

const MAX_MEMBERS = 5

function listMembers(names: readonly string[]) {
  const more = names.length > MAX_MEMBERS ? ` and ${names.length - MAX_MEMBERS} more` : ''
  return names.slice(0, MAX_MEMBERS).join(', ') + more
}

/** The visible teams that can perform an action, with their first members. */
function Deciders({ runId, action }: { runId: string; action: keyof typeof DECIDERS }) {
  const { relation, include, title } = DECIDERS[action]
  const { data: teams = [] } = useQuery({
    queryKey: ['runs', runId, 'deciders', action],
    staleTime: 60_000,
    queryFn: async () => {
      const document = await get<DocumentOnWire<typeof runDecidersSchema, typeof teamSchema | typeof userSchema>>(
        `/runs/${runId}/deciders?include=${include}`,
      )
      const included = includedOf(document)
      return included.many('teams', document.data.relationships[relation]).map((team) => ({
        id: team.id,
        name: team.attributes.name,
        members: included.many('users', team.relationships.users).map((user) => user.attributes.username),
      }))
    },
  })
  if (teams.length === 0) return null
  return (
    <div>
      <h3 className="mb-1 text-dim">{title}</h3>
      <ul className="space-y-0.5">
        {teams.map(({ id, name, members }) => (
          <li key={id}>
            <span className="font-medium">{name}</span>
            {members.length > 0 && <span className="text-dim"> ({listMembers(members)})</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}

const DONE = {
  apply: 'Plan approved',
  discard: 'Run discarded',
  cancel: 'Cancellation requested',
  'force-cancel': 'Run force-canceled',
  'force-execute': 'Run moved to the front of the queue',
} as const satisfies Record<RunAction, string>

function RunActions({ document, onDone }: { document: RunDocument; onDone: () => void }) {
  const { run } = document
  const { status } = run.attributes
  const send = useRunAction(run.id)
  const [conflict, setConflict] = useState<ApiError>()
  const act = (action: RunAction) => async (comment: string | undefined) => {
    setConflict(undefined)
    try {
      await send(action, comment)
      toast({ text: DONE[action] })
    } catch (error) {
      // Another user acted first; the page is already up to date.
      if (!(error instanceof ApiError && error.status === 409)) throw error
      setConflict(error)
    }
    onDone()
  }
  return (
    <div className="flex flex-wrap gap-2 empty:hidden">
      {conflict && (
        <div className="w-full">
          <ErrorNote error={conflict} />
        </div>
      )}
      <ApplyAction document={document} act={act('apply')} />
      {simpleActions(document).map(({ name, isAvailable, ...confirm }) => {
        return isAvailable && <ActionConfirm key={name} {...confirm} onConfirm={act(name)} />
      })}
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
    const isConfirmed = attributes['status-timestamps']['confirmed-at'] !== undefined
    if (isConfirmed || attributes['auto-apply'] || isStalePlan(run) || isCanceling(run)) return null
    return <Button kind="primary" icon={Check} reason="the plan is not finished" label="Confirm & apply" />
  }
  const name = workspace?.attributes.name ?? ''
  const destroys = destroysResources(document)
  const count = plan?.attributes['resource-destructions'] ?? destroyed.length
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
      consequence={destroys ? destruction : 'The engine makes the planned changes.'}
      typedName={destroysAll ? name : undefined}
      onConfirm={act}
    />
  )
}

/** The actions that only need a confirmation. A run that awaits a decision is discarded instead of canceled. */
function simpleActions(document: RunDocument) {
  const { actions, permissions, status } = document.run.attributes
  const awaitsDecision = RUN_STATUS_TABLE[status].awaits === 'decision'
  const isApplying = status === 'applying'
  return [
    {
      name: 'discard',
      isAvailable: actions['is-discardable'] && permissions['can-discard'] && awaitsDecision,
      label: 'Discard run',
      icon: Trash2,
      title: 'Discard this run?',
      consequence: 'The plan can no longer be applied. Nothing is changed.',
    },
    {
      name: 'force-execute',
      isAvailable: status === 'pending' && permissions['can-force-execute'],
      label: 'Run next',
      icon: FastForward,
      reason: isLockedManually(document) ? 'the workspace is locked; unlock it first' : undefined,
      title: 'Move this run to the front of the queue?',
      consequence: 'The runs ahead of it in this workspace are discarded or canceled.',
    },
    {
      name: 'cancel',
      isAvailable: actions['is-cancelable'] && permissions['can-cancel'] && !awaitsDecision,
      label: 'Cancel run',
      icon: Ban,
      kind: isApplying ? 'danger' : 'plain',
      title: 'Cancel this run?',
      consequence: isApplying
        ? 'The engine finishes operations in progress and saves the state. Applied changes remain; the others are skipped.'
        : 'Nothing is changed.',
    },
  ] as const
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
  const isDeleted = configuration !== undefined && configuration.attributes.status !== 'uploaded'
  const organization = workspace?.relationships.organization.data?.id ?? ''
  const name = workspace?.attributes.name ?? ''
  return (
    <Confirm
      label={isStalePlan(run) ? 'New plan' : 'Re-run'}
      icon={RotateCcw}
      kind={isDestroy ? 'danger' : 'plain'}
      reason={isDeleted ? 'its configuration was deleted; create a new run in the workspace' : undefined}
      title="Re-run with the same configuration?"
      consequence={
        <>
          <p>
            Creates a {isDestroy && 'destroy '}run with the same options
            {options.length > 0 && `: ${options.join(', ')}`}.
          </p>
          <p>{isAutoApplied ? 'Applied automatically.' : attributes['plan-only'] ? 'Plan only.' : 'Needs approval.'}</p>
          {!permissions['can-read-variable'] && <p>Run variables are not repeated because you cannot read them.</p>}
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
