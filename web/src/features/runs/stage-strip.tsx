import { Ban, Check, Circle, CircleAlert, CircleMinus, CircleX, Clock, Hand, LoaderCircle } from 'lucide-react'
import { type StatusStyle, TONE_TEXT } from '../../components/status.tsx'
import { Elapsed } from '../../components/time.tsx'
import { TabLink } from './run-navigation.tsx'
import { currentStep, type Step, type StepState } from './run-steps.ts'

export const STEP_STYLE = {
  pending: { tone: 'quiet', icon: Circle },
  waiting: { tone: 'warn', icon: Clock },
  running: { tone: 'busy', icon: LoaderCircle },
  attention: { tone: 'accent', icon: Hand },
  done: { tone: 'good', icon: Check },
  warning: { tone: 'warn', icon: CircleAlert },
  failed: { tone: 'bad', icon: CircleX },
  stopped: { tone: 'quiet', icon: Ban },
  skipped: { tone: 'quiet', icon: CircleMinus },
} as const satisfies Record<StepState, StatusStyle>

export function StageStrip({ steps }: { steps: readonly Step[] }) {
  const current = currentStep(steps)?.id
  return (
    <nav aria-label="Run stages" className="rounded-lg border border-line bg-paper">
      <ol className="relative flex overflow-x-auto p-1">
        {steps.map((step) => (
          <li key={step.id} ref={step.id === current ? scrollIntoStrip : null} className="flex-[1_0_auto]">
            <StepLink step={step} isCurrent={step.id === current} />
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Scrolls the strip to the item without scrolling the page. */
function scrollIntoStrip(item: HTMLElement | null) {
  if (item?.parentElement) item.parentElement.scrollLeft = item.offsetLeft - 16
}

function StepLink({ step, isCurrent }: { step: Step; isCurrent: boolean }) {
  const { title, state, text, from, to, part, phase } = step
  const { tone, icon: Icon } = STEP_STYLE[state]
  const isInactive = state === 'pending' || state === 'skipped'
  return (
    <TabLink
      search={{ part, phase }}
      hash={part === 'tasks' ? step.id : undefined}
      aria-current={isCurrent ? 'step' : undefined}
      className={`block h-full rounded-md px-2.5 py-1.5 no-underline hover:bg-hover ${isCurrent ? 'bg-hover' : ''}`}
    >
      <span
        className={`flex items-center gap-1.5 font-medium whitespace-nowrap ${isInactive ? 'text-dim' : 'text-ink'}`}
      >
        <Icon
          size={15}
          className={`shrink-0 ${TONE_TEXT[tone]} ${state === 'running' ? 'animate-spin [animation-duration:2s]' : ''}`}
        />
        {title}
      </span>
      <span className="mt-0.5 block pl-[21px] text-xs whitespace-nowrap text-dim">
        {text}
        {from !== undefined && !isInactive && [' · ', <Elapsed key="elapsed" from={from} to={to} />]}
      </span>
    </TabLink>
  )
}
