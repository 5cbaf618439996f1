import { Link } from '@tanstack/react-router'
import { FlaskConical, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { NoRun, RunStatus } from '../runs/run-status.tsx'
import type { Sample } from './overview.ts'
import { type Run, useLatestRun, useMakeSample, usePersonName, useRemoveSample } from './sample.ts'

/** Offers a sample to users of an empty organization. */
export function SampleOffer({ organization }: { organization: string }) {
  const make = useMakeSample(organization)
  return (
    <Card title="Sample project" about="Explore with sample data. One click removes it.">
      <div className="space-y-3">
        <ul className="list-outside list-disc space-y-1 pl-5 marker:text-dim">
          <li>two workspaces in a project of their own, with a variable set</li>
          <li>a run with twelve resources that waits for your approval</li>
          <li>a run task that looks at the plan, answered by this server</li>
          <li>a trigger: the apply of the first workspace starts a run of the second</li>
        </ul>
        {make.error && <ErrorNote error={make.error} />}
        <Button kind="primary" icon={FlaskConical} isPending={make.isPending} onClick={() => make.mutate()}>
          {make.error ? 'Try again' : 'Create sample project'}
        </Button>
      </div>
    </Card>
  )
}

/** The sample of the organization: what to try with it, how far that is, and the way to remove it. */
export function SampleCard({ organization, sample, mayChange }: SampleCardProps) {
  return (
    <Card title="The sample" about={<MadeBy sample={sample} />}>
      <div className="space-y-4">
        <Course organization={organization} sample={sample} />
        {mayChange && (
          <div className="flex flex-wrap gap-2">
            {!sample.attributes['is-complete'] && <Restore organization={organization} />}
            <Remove organization={organization} sample={sample} />
          </div>
        )}
      </div>
    </Card>
  )
}

type SampleCardProps = {
  organization: string
  sample: Sample
  /** Whether the person may make and remove samples. */
  mayChange: boolean
}

function MadeBy({ sample }: { sample: Sample }) {
  const name = usePersonName(sample.relationships['created-by'].data?.id)
  return (
    <>
      Made {name !== undefined && `by ${name} `}
      <RelativeTime at={sample.attributes['created-at']} />.
    </>
  )
}

/** The two steps that the sample is for. */
function Course({ organization, sample }: { organization: string; sample: Sample }) {
  const { network, app } = sample.relationships
  const names = new Map(sample.attributes.removes.map(({ id, name }) => [id, name]))
  const networkName = names.get(network.data?.id ?? '')
  const appName = names.get(app.data?.id ?? '')
  const first = useLatestRun(network.data?.id).data
  const second = useLatestRun(app.data?.id).data
  if (networkName === undefined && appName === undefined)
    return <p className="text-dim">You may not see its workspaces, or they were deleted.</p>
  return (
    <ol className="list-outside list-decimal space-y-3 pl-5 marker:text-dim">
      {networkName !== undefined && (
        <li>
          <CourseStep organization={organization} workspace={networkName} run={first}>
            {first
              ? 'Look at what it would make and at what the run task says, and approve it.'
              : 'Its configuration arrives in a moment, and with it the first run. If none comes, the log of the server says why: remove the sample then, and make it again.'}
          </CourseStep>
        </li>
      )}
      {appName !== undefined && (
        <li>
          <CourseStep organization={organization} workspace={appName} run={second}>
            {second
              ? 'The trigger has started it: it uses the outputs of the first workspace.'
              : 'The trigger starts a run here when the first one is applied.'}
          </CourseStep>
        </li>
      )}
    </ol>
  )
}

function CourseStep({
  organization,
  workspace,
  run,
  children,
}: {
  organization: string
  workspace: string
  run: Run | null | undefined
  children: ReactNode
}) {
  const reason = run?.attributes['error-message']
  return (
    <div className="space-y-0.5">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        {run ? (
          <Link
            to="/app/$organization/workspaces/$workspace/runs/$run"
            params={{ organization, workspace, run: run.id }}
            className="font-medium text-accent hover:underline"
          >
            The run of {workspace}
          </Link>
        ) : (
          <Link
            to="/app/$organization/workspaces/$workspace"
            params={{ organization, workspace }}
            className="font-medium text-accent hover:underline"
          >
            {workspace}
          </Link>
        )}
        <span role="status">{run ? <RunStatus run={run.attributes} /> : run === null && <NoRun />}</span>
      </p>
      <p className="text-dim">{children}</p>
      {run?.attributes.status === 'errored' && (
        <Notice tone="bad">It has failed: {reason ?? 'its log says why.'}</Notice>
      )}
    </div>
  )
}

/** Brings back what was deleted of it. */
function Restore({ organization }: { organization: string }) {
  const make = useMakeSample(organization)
  return (
    <>
      {make.error && <ErrorNote error={make.error} />}
      <Button icon={FlaskConical} isPending={make.isPending} onClick={() => make.mutate()}>
        Make what was deleted again
      </Button>
    </>
  )
}

function Remove({ organization, sample }: { organization: string; sample: Sample }) {
  const remove = useRemoveSample(organization)
  const { removes, keeps } = sample.attributes
  return (
    <Confirm
      label="Remove the sample"
      icon={Trash2}
      title="Remove the sample with all of this?"
      consequence={
        <>
          <ul className="list-outside list-disc pl-5">
            {removes.map(({ id, type, name, detail }) => (
              <li key={id}>
                {KINDS[type]} <b className="font-medium">{name}</b>
                {detail !== null && `: ${detail}`}
              </li>
            ))}
          </ul>
          {keeps.map(({ id, type, name, reason }) => (
            <p key={id} className="mt-2 text-dim">
              {KINDS[type]} <b className="font-medium">{name}</b> stays: {reason}
            </p>
          ))}
        </>
      }
      action="Remove the sample"
      onConfirm={async () => {
        await remove.mutateAsync()
        toast({ text: 'The sample is gone' })
      }}
    />
  )
}

const KINDS = {
  workspaces: 'workspace',
  'run-triggers': 'trigger',
  tasks: 'run task',
  'workspace-tasks': 'task',
  varsets: 'variable set',
  projects: 'project',
} as const satisfies Record<Sample['attributes']['removes'][number]['type'], string>
