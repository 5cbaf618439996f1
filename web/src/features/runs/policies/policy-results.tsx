import type { policySetOutcomeSchema } from '@groundstate/contract/policies'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { ShieldAlert } from 'lucide-react'
import { useState } from 'react'
import { ApiError, get, request } from '../../../api/client.ts'
import { invalidate } from '../../../api/queries.ts'
import { Card } from '../../../components/card.tsx'
import { Confirm } from '../../../components/confirm.tsx'
import { ErrorNote, Notice, loaded } from '../../../components/feedback.tsx'
import { ExternalLink, TargetLink } from '../../../components/links.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { StatusText } from '../../../components/status.tsx'
import { Elapsed } from '../../../components/time.tsx'
import { runRoute } from '../run-navigation.tsx'
import type { PolicyEvaluation, TaskStage } from '../run.ts'
import { PolicyItem } from './policy-item.tsx'
import { evaluationStyle, resultText } from './policy-text.ts'

type Outcome = Wire<typeof policySetOutcomeSchema>

/** The results of the policies of a stage, next to those of its run tasks. */
export function PolicyResults({ stage }: { stage: TaskStage }) {
  return stage.evaluations.map((evaluation) => <Evaluation key={evaluation.id} stage={stage} evaluation={evaluation} />)
}

function Evaluation({ stage, evaluation }: { stage: TaskStage; evaluation: PolicyEvaluation }) {
  const { attributes } = evaluation
  const { status, message, 'policy-tool-version': version, 'status-timestamps': times } = attributes
  const from = times['running-at']
  const isRunning = status === 'running'
  return (
    <Card
      title="Policy results"
      about={version === null ? undefined : `Evaluated by OPA ${version}`}
      isFlush
      actions={
        <span className="flex flex-wrap items-center gap-x-2">
          {from !== undefined && (
            <Elapsed
              from={from}
              to={isRunning ? undefined : (times[`${status}-at`] ?? attributes['updated-at'])}
              className="text-dim"
            />
          )}
          <StatusText {...evaluationStyle(attributes)} isBusy={isRunning} />
        </span>
      }
    >
      <div className="border-t border-line">
        <p className="px-4 py-2 text-dim empty:hidden">{resultText(attributes['result-count'])}</p>
        {message !== null && (
          <div className="px-4 pb-3">
            <Notice tone={status === 'errored' ? 'bad' : 'info'}>{message}</Notice>
          </div>
        )}
        <Overridden evaluation={evaluation} />
        <div className="px-4 pb-3 empty:hidden">
          <Override stage={stage} />
        </div>
        {!['pending', 'running', 'unreachable'].includes(status) && <Outcomes evaluation={evaluation} />}
      </div>
    </Card>
  )
}

/** The user who let the run continue, and the comment. */
function Overridden({ evaluation: { attributes, overriddenBy } }: { evaluation: PolicyEvaluation }) {
  if (attributes.status !== 'overridden') return null
  const comment = attributes['override-comment']
  return (
    <div className="px-4 pb-3">
      <Notice tone="warn">
        {`Overridden${overriddenBy === undefined ? '' : ` by ${overriddenBy}`}${comment === null ? '' : `: ${comment}`}`}
      </Notice>
    </div>
  )
}

/** The button that lets a run continue although mandatory policies failed. */
export function Override({ stage }: { stage: TaskStage }) {
  const { actions, permissions } = stage.attributes
  const [conflict, setConflict] = useState<ApiError>()
  const runId = stage.relationships.run.data?.id ?? ''
  if (!actions['is-overridable']) return conflict ? <ErrorNote error={conflict} /> : null
  async function override(comment: string | undefined) {
    setConflict(undefined)
    try {
      const path = `/task-stages/${stage.id}/actions/override`
      await request('POST', path, comment === undefined ? {} : { comment })
      toast({ text: 'Policies overridden' })
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error
      setConflict(error)
    } finally {
      await invalidate(['runs', runId])
    }
  }
  return (
    <Confirm
      label="Override policies"
      icon={ShieldAlert}
      kind="plain"
      reason={
        permissions['can-override-policy'] ? undefined : 'requires the permission to override policies of the workspace'
      }
      title="Let the run continue although mandatory policies failed?"
      consequence="The override is recorded with your name. Discarding the run is the alternative."
      comment="Comment"
      action="Override policies"
      onConfirm={override}
    />
  )
}

function Outcomes({ evaluation }: { evaluation: PolicyEvaluation }) {
  const query = useQuery({
    queryKey: ['policy-evaluations', evaluation.id, 'outcomes', evaluation.attributes.status],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof policySetOutcomeSchema>>(
        `/policy-evaluations/${evaluation.id}/policy-set-outcomes?page[size]=100`,
        signal,
      ),
  })
  const { data, fallback } = loaded(query, { rows: 2, label: 'Loading the results of policies' })
  if (!data) return <div className="px-4 pb-3">{fallback}</div>
  return (
    <ul className="divide-y divide-line border-t border-line empty:hidden">
      {data.data.map((outcome) => (
        <SetOutcome key={outcome.id} outcome={outcome} />
      ))}
    </ul>
  )
}

export function SetOutcome({ outcome: { attributes, relationships } }: { outcome: Outcome }) {
  const name = attributes['policy-set-name']
  const set = relationships['policy-set'].data?.id
  const commit = attributes['commit-sha']
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="min-w-0 font-medium">{set === undefined ? name : <SetLink id={set} name={name} />}</h3>
        {commit !== null && (
          <span className="text-dim">
            commit{' '}
            <ExternalLink href={attributes['commit-url'] ?? ''} className="font-mono">
              {commit.slice(0, 8)}
            </ExternalLink>
          </span>
        )}
        {commit === null && set !== undefined && relationships['policy-set-version'].data !== null && (
          <span className="text-dim">
            <SetLink id={set} name="uploaded version" tab="versions" />
          </span>
        )}
        <span className="ml-auto text-dim">{resultText(attributes.result_count)}</span>
      </div>
      {attributes.error !== null && (
        <div className="mt-2">
          <Notice tone="bad">{attributes.error}</Notice>
        </div>
      )}
      <ul
        aria-label={`Policies of ${name}`}
        className="mt-2 divide-y divide-line rounded-md border border-line empty:hidden"
      >
        {attributes.outcomes.map((policy) => (
          <PolicyItem key={policy.policy_name} policy={policy} />
        ))}
      </ul>
    </li>
  )
}

function SetLink({ id, name, tab }: { id: string; name: string; tab?: string }) {
  const { organization } = runRoute.useParams()
  return (
    <TargetLink
      leadsTo={{
        to: '/app/$organization/policy-sets/$set',
        params: { organization, set: id },
        ...(tab !== undefined && { search: { tab } }),
      }}
      className="hover:underline"
    >
      {name}
    </TargetLink>
  )
}
