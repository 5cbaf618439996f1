import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { userSchema } from '@groundstate/contract/users'
import { useMutation, useQuery } from '@tanstack/react-query'
import { FlaskConical, Trash2 } from 'lucide-react'
import { getData } from '../../api/client.ts'
import { sendAndRefetch } from '../../api/queries.ts'
import { Button, type ButtonKind } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { focusHeading } from '../../components/page.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { NoRun, RunStatus } from '../runs/run-status.tsx'
import { createSample } from './overview-actions.ts'
import type { Sample } from './overview.ts'

export function SampleOffer({ organization }: { organization: string }) {
  return (
    <Card title="Sample project" about="Explore with sample data. You can remove it with one click.">
      <div className="space-y-3">
        <ul className="list-outside list-disc space-y-1 pl-5 marker:text-dim">
          <li>two workspaces in a separate project, with a variable set</li>
          <li>a run with twelve resources that needs your approval</li>
          <li>a run task that checks the plan, hosted by this server</li>
          <li>a trigger: applies of the first workspace start runs of the second</li>
        </ul>
        <CreateSample organization={organization} label="Create sample project" kind="primary" />
      </div>
    </Card>
  )
}

type SampleProps = { organization: string; sample: Sample }

/** The sample project: a tutorial in two steps, and its removal for users who may. */
export function SampleCard({ organization, sample, mayChange }: SampleProps & { mayChange: boolean }) {
  const author = useUsername(sample.relationships['created-by'].data?.id)
  return (
    <Card
      title="Sample project"
      about={
        <>
          Created {author !== undefined && `by ${author} `}
          <RelativeTime at={sample.attributes['created-at']} />.
        </>
      }
    >
      <div className="space-y-4">
        <Tutorial sample={sample} />
        {mayChange && (
          <div className="flex flex-wrap gap-2">
            {!sample.attributes['is-complete'] && (
              <CreateSample organization={organization} label="Restore deleted parts" />
            )}
            <Remove organization={organization} sample={sample} />
          </div>
        )}
      </div>
    </Card>
  )
}

function Tutorial({ sample }: { sample: Sample }) {
  const names = new Map(sample.attributes.removes.map(({ id, name }) => [id, name]))
  const steps = [
    {
      id: sample.relationships.network.data?.id,
      before:
        'The configuration and the first run arrive in a moment. If not, check the server log, then remove the sample project and create it again.',
      after: 'Review its changes and the result of the run task, and approve it.',
    },
    {
      id: sample.relationships.app.data?.id,
      before: 'The trigger starts a run here when the first one is applied.',
      after: 'Started by the trigger. It uses the outputs of the first workspace.',
    },
  ].filter(({ id = '' }) => names.has(id))
  if (steps.length === 0) return <p className="text-dim">Its workspaces were deleted, or you can’t see them.</p>
  return (
    <ol className="list-outside list-decimal space-y-3 pl-5 marker:text-dim">
      {steps.map(({ id = '', ...texts }) => (
        <li key={id}>
          <Step workspaceId={id} workspace={names.get(id) ?? ''} {...texts} />
        </li>
      ))}
    </ol>
  )
}

type StepProps = { workspaceId: string; workspace: string; before: string; after: string }

function Step({ workspaceId, workspace, before, after }: StepProps) {
  const { data: run } = useLatestRun(workspaceId)
  const place = { workspace, className: 'font-medium text-accent hover:underline' }
  return (
    <div className="space-y-0.5">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        {run ? (
          <RunLink {...place} run={run}>
            Run of {workspace}
          </RunLink>
        ) : (
          <WorkspaceLink {...place} />
        )}
        <span role="status">{run ? <RunStatus run={run.attributes} /> : run === null && <NoRun />}</span>
      </p>
      <p className="text-dim">{run ? after : before}</p>
      {run?.attributes.status === 'errored' && (
        <Notice tone="bad">The run failed: {run.attributes['error-message'] ?? 'see its log for details.'}</Notice>
      )}
    </div>
  )
}

type CreateSampleProps = { organization: string; label: string; kind?: ButtonKind }

function CreateSample({ organization, label, kind }: CreateSampleProps) {
  const create = useCreateSample(organization)
  const { error, isPending } = create
  return (
    <>
      {error && <ErrorNote error={error} />}
      <Button
        label={error ? 'Try again' : label}
        kind={kind}
        icon={FlaskConical}
        isPending={isPending}
        onClick={() => create.mutate()}
      />
    </>
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

function Remove({ organization, sample }: SampleProps) {
  const keys = ['overview', 'runs', 'workspaces'].map((kind) => [kind, organization])
  const { removes, keeps } = sample.attributes
  return (
    <Confirm
      label="Remove sample project"
      icon={Trash2}
      title="Remove the sample project and all its parts?"
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
              {KINDS[type]} <b className="font-medium">{name}</b> is kept: {reason}
            </p>
          ))}
        </>
      }
      action="Remove sample project"
      done="Sample project removed"
      onConfirm={async () => sendAndRefetch('DELETE', `/organizations/${organization}/sample`, ...keys)}
    />
  )
}

function useUsername(id: string | undefined) {
  return useQuery({
    queryKey: ['users', id],
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await getData<DocumentOnWire<typeof userSchema>>(`/users/${id}`, signal)).attributes.username,
  }).data
}

function useLatestRun(workspaceId: string) {
  const path = `/workspaces/${workspaceId}/runs?page[size]=1`
  return useQuery({
    queryKey: ['runs', workspaceId, 'latest'],
    queryFn: async ({ signal }) => (await getData<PageOnWire<typeof runSchema>>(path, signal))[0] ?? null,
  })
}

function useCreateSample(organization: string) {
  return useMutation({
    mutationFn: async () => createSample(organization),
    onSuccess: () => {
      // The clicked button no longer exists.
      requestAnimationFrame(focusHeading)
    },
  })
}
