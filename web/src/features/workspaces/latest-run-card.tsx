import { Link } from '@tanstack/react-router'
import { Hand } from 'lucide-react'
import { includedOf } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunAuthorName, originText } from '../runs/run-origin.tsx'
import { RunBadges, RunStatus, runState } from '../runs/run-status.tsx'
import { runTitle } from '../runs/run-text.ts'
import { useOpenWorkspace } from './workspace.ts'

/** The run that was started last: what it is about, how far it is, and the way to it. */
export function LatestRunCard() {
  const { organization, document, workspace } = useOpenWorkspace()
  const included = includedOf(document)
  const run = included.one('runs', workspace.relationships['latest-run'])
  if (!run) return null
  const { attributes, relationships } = run
  const plan = included.one('plans', relationships.plan)
  const author = included.one('users', relationships['created-by'])
  const params = { organization, workspace: workspace.attributes.name, run: run.id }
  // A saved plan holds no one back, and may still be applied.
  const isToReview = runState(attributes).group === 'needs_approval' || attributes.actions['is-confirmable']
  return (
    <Card
      title="Latest run"
      actions={
        <Link
          to="/app/$organization/workspaces/$workspace/runs"
          params={params}
          className="text-accent hover:underline"
        >
          All runs
        </Link>
      }
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <Link
            to="/app/$organization/workspaces/$workspace/runs/$run"
            params={params}
            className="line-clamp-2 font-medium hover:underline"
          >
            {runTitle({ id: run.id, message: attributes.message })}
          </Link>
          <p className="mt-1 flex flex-wrap items-center gap-x-1.5 text-dim">
            {author && (
              <>
                <RunAuthorName run={attributes} author={author} />·
              </>
            )}
            {originText(attributes)} ·
            <RelativeTime at={attributes['created-at']} />
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <RunBadges run={attributes} />
          {plan && (
            <PlanCounts
              counts={{
                additions: plan.attributes['resource-additions'],
                changes: plan.attributes['resource-changes'],
                destructions: plan.attributes['resource-destructions'],
                imports: plan.attributes['resource-imports'],
              }}
            />
          )}
          <RunStatus run={attributes} />
          {isToReview && (
            <Link
              to="/app/$organization/workspaces/$workspace/runs/$run"
              params={params}
              className={buttonClass({ kind: 'primary' })}
            >
              <Hand size={16} aria-hidden="true" />
              Review the plan
            </Link>
          )}
        </div>
      </div>
    </Card>
  )
}
