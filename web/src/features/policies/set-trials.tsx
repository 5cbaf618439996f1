import { FlaskConical, Play } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote, Notice, loaded } from '../../components/feedback.tsx'
import { TargetLink, WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Progress } from '../../components/progress.tsx'
import { StatusText } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { PolicyItem } from '../runs/policies/policy-item.tsx'
import type { ShownSet } from './policy-sets.ts'
import * as trials from './trials.ts'

type TrialsProps = { organization: string; shown: ShownSet }

/** Evaluations of the set against past runs, which they do not affect. */
export function SetTrials({ organization, shown }: TrialsProps) {
  if (!shown.set.attributes.permissions['can-update'])
    return <EmptyState icon={FlaskConical} title="No access" text="Trials require the permission to manage policies." />
  return <Managed organization={organization} shown={shown} />
}

function Managed({ organization, shown: { set } }: TrialsProps) {
  const query = trials.useTrials(organization, set.id)
  const start = trials.useStartTrial(set.id)
  const { data, fallback } = loaded(query, { rows: 4, label: 'Loading the trials' })
  if (!data) return fallback
  const [latest, ...earlier] = data.data
  const isBusy = data.data.some((trial) => trials.isOpen(trial) && trial.attributes.source === 'policy-set')
  const reason =
    set.attributes['policy-count'] === 0 ? 'the set has no policies' : isBusy ? 'a trial is running' : undefined
  const button = (
    <Button
      label="Evaluate last 30 days"
      icon={Play}
      kind="primary"
      reason={reason}
      isPending={start.isPending}
      onClick={() => start.mutate(undefined)}
    />
  )
  return (
    <div className="max-w-4xl space-y-4">
      {start.error && <ErrorNote error={start.error} />}
      {latest ? (
        <>
          <div className="flex flex-wrap items-center gap-3">
            <p className="min-w-0 flex-1 text-dim">
              Shows which past runs the policies would have stopped. Runs are not affected.{' '}
              <DocsLink page="policies">Try a set</DocsLink>
            </p>
            {button}
          </div>
          <LatestTrial key={latest.id} organization={organization} trial={latest} />
          {earlier.length > 0 && <Table label="Earlier trials" rows={earlier} columns={EARLIER} isFocusable />}
        </>
      ) : (
        <EmptyState icon={FlaskConical} title="No trials yet" actions={button}>
          <p>A trial shows which runs of the last 30 days the policies would have stopped. Runs are not affected.</p>
          <DocsLink page="policies">Try a set</DocsLink>
        </EmptyState>
      )}
    </div>
  )
}

const SOURCES = { upload: 'Uploaded policies', 'policy-set': 'Last 30 days' } as const

const EARLIER: readonly Column<trials.Trial>[] = [
  { header: 'Earlier trials', cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} /> },
  { header: 'Evaluated', cell: ({ attributes }) => SOURCES[attributes.source] },
  { header: 'Status', cell: (trial) => <StatusText {...trials.trialStyle(trial)} isBusy={trials.isOpen(trial)} /> },
  {
    header: 'Result',
    cell: (trial) => trial.attributes['error-message'] ?? summary(trial),
  },
]

type TrialProps = { organization: string; trial: trials.Trial }

function LatestTrial({ organization, trial }: TrialProps) {
  const { attributes } = trial
  const { 'run-counts': counts, 'error-message': error } = attributes
  const cancel = trials.useCancelTrial()
  const isOpen = trials.isOpen(trial)
  const omitted = trials.omittedText(attributes['omitted-runs'])
  return (
    <Card
      title={SOURCES[attributes.source]}
      about={<RelativeTime at={attributes['created-at']} />}
      isFlush
      actions={<StatusText {...trials.trialStyle(trial)} isBusy={attributes.status === 'running'} />}
    >
      <div className="space-y-3 px-4 pb-3">
        {attributes.status === 'running' && (
          <Progress label="Evaluating runs" done={counts.evaluated} total={counts.total} />
        )}
        {error !== null && <Notice tone="bad">{error}</Notice>}
        {cancel.error && <ErrorNote error={cancel.error} />}
        {isOpen && (
          <Button
            size="small"
            label="Cancel trial"
            isPending={cancel.isPending}
            onClick={() => cancel.mutate(trial.id, { onSuccess: () => toast({ text: 'Trial canceled' }) })}
          />
        )}
        <p className="font-medium empty:hidden">{summary(trial)}</p>
        {omitted !== '' && <p className="text-dim">Left out: {omitted}</p>}
      </div>
      {counts.stopped + counts.errored + counts.warned > 0 && <Results organization={organization} trial={trial} />}
    </Card>
  )
}

function summary({ attributes: { status, 'run-counts': counts } }: trials.Trial) {
  if (status === 'finished' && counts.total === 0) return 'No runs in the last 30 days'
  const text = trials.countsText(counts)
  return text === '' ? '' : `${counted(counts.total, 'run')}: ${text}`
}

/** The runs that the policies would have stopped, or warned about. */
function Results({ organization, trial }: TrialProps) {
  const [page, setPage] = useState(1)
  const query = trials.useTrialRuns(organization, trial.id, page)
  const { data, fallback } = loaded(query, { rows: 3, label: 'Loading the results' })
  if (!data) return <div className="px-4 pb-3">{fallback}</div>
  return (
    <>
      <ul aria-label="Affected runs" className="divide-y divide-line border-t border-line empty:hidden">
        {data.data.map((result) => (
          <Result key={result.id} organization={organization} result={result} />
        ))}
      </ul>
      <div className="px-4 pb-3 empty:hidden">
        <Pager pagination={data.meta.pagination} onPage={setPage} />
      </div>
    </>
  )
}

function Result({ organization, result }: { organization: string; result: trials.TrialRun }) {
  const { attributes, relationships } = result
  const { error, outcomes, overridable } = attributes
  const { 'workspace-name': workspace, 'run-message': message } = attributes
  const run = relationships.run.data?.id ?? ''
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <TargetLink
          leadsTo={{ to: '/app/$organization/runs/$run', params: { organization, run } }}
          className="min-w-0 font-medium wrap-anywhere hover:underline"
        >
          {message === '' ? run : message}
        </TargetLink>
        <span className="text-dim">
          <WorkspaceLink workspace={workspace} className="hover:underline" />,{' '}
          <RelativeTime at={attributes['run-created-at']} />
        </span>
        <span className="ml-auto">
          <StatusText {...trials.RESULT_STYLE[attributes.status]} />
        </span>
      </div>
      {overridable && <p className="text-dim">Could have been overridden</p>}
      {error !== null && (
        <div className="mt-2">
          <Notice tone="bad">{error}</Notice>
        </div>
      )}
      <ul
        aria-label={`Policies of ${run}`}
        className="mt-2 divide-y divide-line rounded-md border border-line empty:hidden"
      >
        {outcomes.map((policy) => (
          <PolicyItem key={policy.policy_name} policy={policy} />
        ))}
      </ul>
    </li>
  )
}
