import type { DocumentOnWire } from '@groundstate/contract/responses'
import { isEnded } from '@groundstate/contract/run-status'
import type { runDecidersSchema } from '@groundstate/contract/runs'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { get } from '../../../api/client.ts'
import { includedOf } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { PlanCounts } from '../../../components/plan-counts.tsx'
import { TONE_TEXT } from '../../../components/status.tsx'
import { hasStarted } from '../log/log-store.ts'
import { TabLink } from '../run-navigation.tsx'
import { RunStatus } from '../run-status.tsx'
import { resultStyle } from '../run-steps.tsx'
import type { RunDocument, TaskStage } from '../run.ts'
import { RunActions } from './run-actions.tsx'
import { useRunShortcuts } from './run-shortcuts.ts'
import { requiredFromOthers, runSituation } from './run-situation.ts'

/** The status and actions of a run: a side panel, or an expandable bar at the bottom of a narrow screen. */
export function ApprovalPanel({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages } = document
  const { attributes } = run
  const id = useId()
  const [isOpen, setIsOpen] = useState(false)
  const panel = useRef<HTMLElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useRunShortcuts(panel, () => flushSync(() => setIsOpen(true)))
  const needsUser =
    (attributes.actions['is-confirmable'] && attributes.permissions['can-apply']) ||
    stages.some(
      (stage) => stage.attributes.actions['is-overridable'] && stage.attributes.permissions['can-override-policy'],
    )
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
      ref={panel}
      aria-label="Approval"
      className="border-line bg-paper max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-20 max-lg:border-t max-lg:shadow-lg md:max-lg:left-56 lg:rounded-lg lg:border"
    >
      <div className="flex items-center gap-3 px-4 py-2.5">
        <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
          <h2 id={DECISION_ID} ref={heading} tabIndex={-1} className="text-base font-semibold max-lg:sr-only">
            {needsUser ? 'Decision' : isEnded(attributes.status) ? 'Result' : 'Progress'}
          </h2>
          {/* The header, which has the status too, may be scrolled out of view. */}
          <span className="lg:hidden">
            <RunStatus run={attributes} />
          </span>
          <span className="lg:ml-auto">
            <Counts plan={plan} apply={apply} />
          </span>
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
        <p>
          {runSituation(document)}
          {attributes.status === 'errored' && plan && hasStarted(plan) && (
            <>
              {' '}
              <TabLink search={{ part: 'log' }} className="whitespace-nowrap text-accent underline">
                View log
              </TabLink>
            </>
          )}
        </p>
        {stages.some(({ results }) => results.length > 0) && <TaskResults stages={stages} />}
        {required !== undefined && <Deciders runId={run.id} action={required} />}
        <RunActions document={document} onDone={onDone} />
      </div>
    </aside>
  )
}

const DECISION_ID = 'decision'

/** Visible with focus only. It follows the heading of the page, which has the focus after a navigation. */
export function SkipToDecision() {
  return (
    <a
      href={`#${DECISION_ID}`}
      onClick={(event) => {
        event.preventDefault()
        globalThis.document.getElementById(DECISION_ID)?.focus()
      }}
      className="sr-only rounded-md bg-accent px-3 py-1 text-on-accent focus:not-sr-only focus:px-3 focus:py-1"
    >
      Skip to the decision
    </a>
  )
}

/** The planned changes; after the apply those that were made, since it may have stopped early. */
function Counts({ plan, apply }: Pick<RunDocument, 'plan' | 'apply'>) {
  const applied = apply?.attributes
  if (applied && applied['resource-additions'] !== null && applied.status !== 'pending') {
    const { 'resource-additions': added, 'resource-changes': changed, 'resource-destructions': destroyed } = applied
    const made = Object.entries({ added, changed, destroyed }).flatMap(([text, count]) =>
      count ? `${count} ${text}` : [],
    )
    return <span className="numeric text-dim">{made.join(', ') || 'no changes'}</span>
  }
  if (!plan) return null
  const counts = <PlanCounts plan={plan} />
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
              <span className="flex min-w-0 flex-1 flex-wrap justify-between gap-x-3">
                <span>{result.attributes['task-name']}</span>
                <span className={TONE_TEXT[tone]}>{text}</span>
              </span>
            </TabLink>
          </li>
        ))}
      </ul>
    </div>
  )
}

const DECIDERS = {
  approve: { relation: 'may-apply', include: 'may_apply.users', title: 'Who can approve' },
  override: { relation: 'may-override', include: 'may_override.users', title: 'Who can override' },
  unlock: { relation: 'may-force-unlock', include: 'may_force_unlock.users', title: 'Who can unlock' },
} as const

const MAX_MEMBERS = 5

function listMembers(names: readonly string[]) {
  const more = names.length > MAX_MEMBERS ? ` and ${names.length - MAX_MEMBERS} more` : ''
  return names.slice(0, MAX_MEMBERS).join(', ') + more
}

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
