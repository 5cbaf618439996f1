import { CircleDashed, GitPullRequest, Play } from 'lucide-react'
import { WorkspaceLink } from '../../components/links.tsx'
import { Badge, type StatusStyle } from '../../components/status.tsx'
import { withLocalTimes } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { RunStatus } from '../runs/run-status.tsx'
import type { DecisionAttributes, ShownDecision } from './vcs-deliveries.ts'

const DECISIONS: Readonly<Record<DecisionAttributes['decision'], StatusStyle & { text: string }>> = {
  run: { text: 'run', tone: 'good', icon: Play },
  plan: { text: 'plan only', tone: 'busy', icon: GitPullRequest },
  skip: { text: 'skipped', tone: 'quiet', icon: CircleDashed },
}

/** A decision about a workspace, its reason, and the run that it started. */
export function DecisionLine({ decision, workspace }: { decision: ShownDecision; workspace: string | undefined }) {
  const { attributes, run } = decision
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Badge {...DECISIONS[attributes.decision]} />
      <span className="min-w-0 flex-1 basis-48 break-words">{withLocalTimes(attributes.description)}</span>
      {run && workspace !== undefined && (
        <RunLink workspace={workspace} run={run} className="hover:underline">
          <RunStatus run={run.attributes} />
        </RunLink>
      )}
    </span>
  )
}

/** The decisions of a delivery, by workspace. */
export function DecisionList({ decisions }: { decisions: readonly ShownDecision[] }) {
  return (
    <ul className="divide-y divide-line">
      {decisions.map((decision) => (
        <li key={decision.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
          <span className="min-w-0 basis-40 font-medium">
            {decision.workspace === undefined ? (
              <span className="text-dim">a workspace</span>
            ) : (
              <WorkspaceLink workspace={decision.workspace} tab="deliveries" className="hover:underline" />
            )}
          </span>
          <div className="min-w-0 flex-1 basis-64">
            <DecisionLine decision={decision} workspace={decision.workspace} />
          </div>
        </li>
      ))}
    </ul>
  )
}
