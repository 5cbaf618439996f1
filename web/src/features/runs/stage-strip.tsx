import { getRouteApi, Link } from '@tanstack/react-router'
import {
  Ban,
  Check,
  Circle,
  CircleAlert,
  CircleMinus,
  CircleX,
  Clock,
  Hand,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import { TONE_TEXT, type Tone } from '../../components/status.tsx'
import { Elapsed } from '../../components/time.tsx'
import { currentStep, type Step, type StepState } from './run-stages.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/** How the state of a step looks; a stage of tasks looks the same in its own part of the page. */
export const STEP_LOOKS = {
  ahead: { tone: 'quiet', icon: Circle },
  waiting: { tone: 'warn', icon: Clock },
  running: { tone: 'busy', icon: LoaderCircle },
  needed: { tone: 'accent', icon: Hand },
  done: { tone: 'good', icon: Check },
  warned: { tone: 'warn', icon: CircleAlert },
  failed: { tone: 'bad', icon: CircleX },
  stopped: { tone: 'quiet', icon: Ban },
  skipped: { tone: 'quiet', icon: CircleMinus },
} as const satisfies Record<StepState, { tone: Tone; icon: LucideIcon }>

/** The way of the run, step by step; each leads to the part of the page that has more about it. */
export function StageStrip({ steps }: { steps: readonly Step[] }) {
  const current = currentStep(steps)?.id
  return (
    <nav aria-label="Stages of the run" className="rounded-lg border border-line bg-paper">
      <ol className="relative flex overflow-x-auto p-1">
        {steps.map((step) => (
          <li key={step.id} ref={step.id === current ? bringIntoSight : null} className="flex-[1_0_auto]">
            <StepLink step={step} isCurrent={step.id === current} />
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** On a narrow screen the strip scrolls in itself, to what goes on; the page does not move. */
function bringIntoSight(item: HTMLElement | null) {
  if (item?.parentElement) item.parentElement.scrollLeft = item.offsetLeft - 16
}

function StepLink({ step, isCurrent }: { step: Step; isCurrent: boolean }) {
  const params = route.useParams()
  const { title, state, text, from, to, part, phase } = step
  const { tone, icon: Icon } = STEP_LOOKS[state]
  const isAhead = state === 'ahead' || state === 'skipped'
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={params}
      search={{ part, phase }}
      {...(part === 'tasks' && { hash: step.id })}
      resetScroll={false}
      aria-current={isCurrent ? 'step' : undefined}
      activeProps={{}}
      className={`block h-full rounded-md px-2.5 py-1.5 no-underline hover:bg-hover ${isCurrent ? 'bg-hover' : ''}`}
    >
      <span className={`flex items-center gap-1.5 font-medium whitespace-nowrap ${isAhead ? 'text-dim' : 'text-ink'}`}>
        <Icon
          size={15}
          aria-hidden="true"
          className={`shrink-0 ${TONE_TEXT[tone]} ${state === 'running' ? 'animate-spin [animation-duration:2s]' : ''}`}
        />
        {title}
      </span>
      <span className="mt-0.5 block pl-[21px] text-xs whitespace-nowrap text-dim">
        {text}
        {from !== undefined && !isAhead && (
          <>
            {' · '}
            <Elapsed from={from} to={to} />
          </>
        )}
      </span>
    </Link>
  )
}
