import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { PlanDifference, ReviewResult, reviewedPlanSchema } from '@groundstate/contract/reviewed-plans'
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleHelp, Clock, GitPullRequest, TriangleAlert } from 'lucide-react'
import { getData } from '../../../api/client.ts'
import { Card } from '../../../components/card.tsx'
import { ExternalLink } from '../../../components/links.tsx'
import { counted } from '../../../components/numbers.ts'
import { type StatusStyle, StatusText } from '../../../components/status.tsx'
import { RunLink, runRoute } from '../run-navigation.tsx'
import type { RunDocument } from '../run.ts'

type ReviewedPlan = Wire<typeof reviewedPlanSchema>

const RESULTS: Readonly<Record<ReviewResult, StatusStyle & { text: string; about: string }>> = {
  pending: {
    text: 'Comparing',
    tone: 'busy',
    icon: Clock,
    about: 'The plan is compared with the one of the pull request once it is finished.',
  },
  identical: {
    text: 'As reviewed',
    tone: 'good',
    icon: CircleCheck,
    about: 'The plan has the changes that the pull request showed.',
  },
  different: {
    text: 'Not as reviewed',
    tone: 'warn',
    icon: TriangleAlert,
    about: 'The plan has changed since the review.',
  },
  unreviewed: {
    text: 'Not reviewed',
    tone: 'quiet',
    icon: GitPullRequest,
    about: 'No plan of a pull request belongs to the commit.',
  },
  unknown: {
    text: 'Not comparable',
    tone: 'quiet',
    icon: CircleHelp,
    about: 'One of the two plans is no longer available.',
  },
}

/** The comparison of a plan with the one that was reviewed; nothing for a run that starts no apply of a commit. */
export function ReviewedPlanCard({ document: { run, plan, commit, configuration } }: { document: RunDocument }) {
  // Plain git servers have no pull requests.
  const isReviewable = configuration?.attributes.source !== 'git' && commit?.attributes['is-pull-request'] === false
  const isCompared = isReviewable && !run.attributes['plan-only']
  const { data } = useQuery({
    queryKey: ['runs', run.id, 'reviewed plan'],
    enabled: isCompared,
    queryFn: async () => getData<DocumentOnWire<typeof reviewedPlanSchema>>(`/runs/${run.id}/reviewed-plan`),
  })
  // Before the plan is finished there is nothing to compare.
  const isDue = data?.attributes.result !== 'pending' || plan?.attributes.status === 'finished'
  return data && isDue ? <Comparison reviewed={data} /> : null
}

function Comparison({ reviewed }: { reviewed: ReviewedPlan }) {
  const { result, ...attributes } = reviewed.attributes
  const { about, ...style } = RESULTS[result]
  const number = attributes['pull-request-number']
  const run = reviewed.relationships['reviewed-run'].data
  const more = attributes['difference-count'] - attributes.differences.length
  return (
    <Card title="Reviewed plan">
      <div className="space-y-2">
        <StatusText {...style} />
        <p className="text-dim">{about}</p>
        {number !== null && (
          <p className="flex flex-wrap gap-x-3">
            <ExternalLink href={attributes['pull-request-url'] ?? ''}>Pull request #{number}</ExternalLink>
            {run && <ReviewedRun id={run.id} />}
          </p>
        )}
        {attributes.differences.length > 0 && (
          <details open={attributes.differences.length <= 5}>
            <summary className="cursor-pointer font-medium">
              {counted(attributes['difference-count'], 'difference')}
            </summary>
            <ul className="mt-1 space-y-1.5">
              {attributes.differences.map((difference) => (
                <li key={difference.address}>
                  <code className="break-all">{difference.address}</code>
                  <span className="block text-dim">{differenceText(difference)}</span>
                </li>
              ))}
              {more > 0 && <li className="text-dim">and {more.toLocaleString('en')} more</li>}
            </ul>
          </details>
        )}
      </div>
    </Card>
  )
}

function ReviewedRun({ id }: { id: string }) {
  const { workspace } = runRoute.useParams()
  return (
    <RunLink workspace={workspace} run={{ id }} className="text-accent underline">
      Reviewed run
    </RunLink>
  )
}

/** "planned now: update; reviewed: nothing". */
export function differenceText({ kind, ...difference }: PlanDifference) {
  const planned = actionsText(difference['planned-actions'])
  const reviewed = actionsText(difference['reviewed-actions'])
  if (kind === 'added') return `${planned}, which the pull request did not show`
  if (kind === 'removed') return `no change; the pull request showed ${reviewed}`
  return planned === reviewed ? `${planned}, with other values` : `${planned}; the pull request showed ${reviewed}`
}

function actionsText(actions: readonly string[]) {
  if (actions.length === 0) return 'no change'
  return actions.includes('create') && actions.includes('delete') ? 'replace' : actions.join(' and ')
}
