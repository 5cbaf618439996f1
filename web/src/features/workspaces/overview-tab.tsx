import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { workspaceReadmeSchema } from '@groundstate/contract/workspace-resources'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { FileInput, FolderGit2, Hand, Play, Terminal, Upload } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { get } from '../../api/client.ts'
import { includedOf } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { EmptyState, Notice, Skeleton } from '../../components/feedback.tsx'
import { ExternalLink, WorkspaceLink } from '../../components/links.tsx'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { TagBadge } from '../../components/status.tsx'
import { RelativeTime, duration } from '../../components/time.tsx'
import { CommitCode } from '../runs/run-commit.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { RunAuthorName, originText } from '../runs/run-origin.tsx'
import { RunBadges, RunStatus, runState } from '../runs/run-status.tsx'
import { RepositoryProblem } from '../workspace-repository/repository-problem.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { MODES } from './execution-fields.tsx'
import { OutputsCard } from './outputs-card.tsx'
import { ResourcesCard } from './resources-card.tsx'
import { tagLabel } from './tag-filter.ts'
import { type WorkspaceResource, useOpenWorkspace } from './workspace.ts'

const MarkdownText = lazy(async () => import('../../components/markdown.tsx'))

export function OverviewTab() {
  const { workspace } = useOpenWorkspace()
  const { permissions } = workspace.attributes
  const hasRun = workspace.relationships['latest-run'].data !== null
  const hasState = workspace.relationships['current-state-version'].data !== null
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="min-w-0 space-y-4">
        <RepositoryProblem workspace={workspace.attributes} />
        {hasRun ? <LatestRunCard /> : permissions['can-read-run'] && <FirstRun />}
        {hasState && permissions['can-read-state-outputs'] && <OutputsCard workspaceId={workspace.id} />}
        {hasState && permissions['can-read-state-versions'] && <ResourcesCard workspaceId={workspace.id} />}
        <ReadmeCard workspace={workspace} />
      </div>
      <DetailsCard />
    </div>
  )
}

function FirstRun() {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = useNavigate()
  const { name, permissions, 'execution-mode': mode, 'vcs-repo': repository } = workspace.attributes
  const isLocal = mode === 'local'
  const hasConfiguration = workspace.attributes['has-configuration']
  const hasState = workspace.relationships['current-state-version'].data !== null
  const mayRun = permissions['can-queue-run'] && !isLocal
  const open = (dialog: 'start' | 'upload' | 'import') =>
    void navigate({ to: '.', search: (before) => ({ ...before, [dialog]: true }) })
  return (
    <EmptyState
      icon={repository ? FolderGit2 : Terminal}
      title="No runs yet"
      actions={
        <>
          {mayRun && (hasConfiguration || repository) && (
            <Button label={repository ? 'Start first run' : 'New run'} icon={Play} onClick={() => open('start')} />
          )}
          {permissions['can-update'] && repository === null && (
            <WorkspaceLink workspace={name} tab="settings/repository" className={buttonClass()}>
              <FolderGit2 size={16} />
              Choose repository
            </WorkspaceLink>
          )}
          {mayRun && repository === null && (
            <Button label="Upload configuration" icon={Upload} onClick={() => open('upload')} />
          )}
          {permissions['can-create-state-versions'] && !hasState && (
            <Button label="Import state" icon={FileInput} onClick={() => open('import')} />
          )}
        </>
      }
    >
      {repository ? (
        <FollowedRepository repository={repository} />
      ) : (
        <ConnectCli organization={organization} workspace={name} isLocal={isLocal} />
      )}
    </EmptyState>
  )
}

type VcsRepo = NonNullable<WorkspaceResource['attributes']['vcs-repo']>

/** What starts the first run of a workspace with a repository. */
function FollowedRepository({ repository }: { repository: VcsRepo }) {
  const { workspace } = useOpenWorkspace()
  const { 'execution-mode': mode, 'queue-all-runs': queuesAllRuns } = workspace.attributes
  const event = repository.tags ? 'tag that matches' : 'push'
  return (
    <>
      <p>
        The workspace follows <RepositoryLink repository={repository} />, {branchText(repository)}.
      </p>
      <p>
        {mode === 'local'
          ? 'Its execution mode is local, so pushes start no runs: the CLI plans and applies on your machine.'
          : queuesAllRuns
            ? `The next ${event} starts a run, or start the first one now.`
            : `Each ${event} starts a run once the first one has been started.`}
      </p>
    </>
  )
}

function RepositoryLink({ repository }: { repository: VcsRepo }) {
  return <ExternalLink href={repository['repository-http-url']}>{repository['display-identifier']}</ExternalLink>
}

function branchText({ branch, ...repository }: VcsRepo) {
  if (repository.tags) return `tags that match ${repository['tags-regex'] ?? 'any expression'}`
  return branch === '' ? 'default branch' : `branch ${branch}`
}

function LatestRunCard() {
  const { document, workspace } = useOpenWorkspace()
  const included = includedOf(document)
  const run = included.one('runs', workspace.relationships['latest-run'])
  if (!run) return null
  const { attributes, relationships } = run
  const plan = included.one('plans', relationships.plan)
  const author = included.one('users', relationships['created-by'])
  const configuration = included.one('configuration-versions', relationships['configuration-version'])
  const commit = included.one('ingress-attributes', configuration?.relationships['ingress-attributes'])
  const { name } = workspace.attributes
  // A saved plan blocks no other run, and may still be applied.
  const needsReview = runState(attributes).group === 'needs_approval' || attributes.actions['is-confirmable']
  return (
    <Card
      title="Latest run"
      actions={
        <WorkspaceLink workspace={name} tab="runs" className="text-accent hover:underline">
          All runs
        </WorkspaceLink>
      }
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <RunLink workspace={name} run={run} className="line-clamp-2 font-medium hover:underline" />
          <p className="mt-1 flex flex-wrap items-center gap-x-1.5 text-dim">
            {(author ?? configuration) && (
              <>
                <RunAuthorName run={attributes} {...{ author, commit, configuration }} />
                <span aria-hidden="true">·</span>
              </>
            )}
            {originText(attributes, { commit, configuration })}
            {commit && <CommitCode commit={commit} />}
            <span aria-hidden="true">·</span>
            <RelativeTime at={attributes['created-at']} />
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <RunBadges run={attributes} />
          {plan && <PlanCounts plan={plan} />}
          {/* The header shows the status of the current run. */}
          {run.id !== workspace.relationships['current-run'].data?.id && <RunStatus run={attributes} />}
          {needsReview && (
            <RunLink workspace={name} run={run} className={buttonClass({ kind: 'primary' })}>
              <Hand size={16} />
              Review plan
            </RunLink>
          )}
        </div>
      </div>
    </Card>
  )
}

function ReadmeCard({ workspace }: { workspace: WorkspaceResource }) {
  const version = workspace.relationships['current-configuration-version'].data?.id
  const readme = useQuery({
    queryKey: ['workspace-readmes', workspace.id, version],
    enabled: workspace.attributes['has-configuration'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      // The response is empty without a README.
      const path = `/workspaces/${workspace.id}/readme`
      const document = await get<DocumentOnWire<typeof workspaceReadmeSchema> | undefined>(path)
      return document?.data.attributes ?? null
    },
  })
  if (!readme.data) return null
  const { path, 'raw-markdown': text, 'is-cut': isCut } = readme.data
  return (
    <Card title={<code>{path}</code>}>
      <Suspense fallback={<Skeleton rows={5} />}>
        <MarkdownText text={text} />
      </Suspense>
      {isCut && <Notice>Only the beginning of this file is shown.</Notice>}
    </Card>
  )
}

function DetailsCard() {
  const { document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const included = includedOf(document)
  const project = included.one('projects', relationships.project)
  const pool = included.one('agent-pools', relationships['agent-pool'])
  const tags = included.many('effective-tag-bindings', relationships['effective-tag-bindings'])
  const state = relationships['current-state-version'].data?.id
  const mode = MODES[attributes['execution-mode']].text
  const directory = attributes['working-directory']
  const planMs = attributes['plan-duration-average']
  const applyMs = attributes['apply-duration-average']
  return (
    <Card title="Details">
      <DescriptionList
        facts={[
          ['Project', project?.attributes.name],
          [
            'Repository',
            attributes['vcs-repo'] && (
              <span key="repository" className="break-words">
                <RepositoryLink repository={attributes['vcs-repo']} />, {branchText(attributes['vcs-repo'])}
              </span>
            ),
          ],
          ['Execution mode', pool ? `${mode}, ${pool.attributes.name}` : mode],
          ['Engine version', <code key="version">{attributes['engine-version']}</code>],
          ['Working directory', directory === '' ? undefined : <code key="directory">{directory}</code>],
          ['Auto-apply', attributes['auto-apply'] ? 'On' : 'Off'],
          [
            'Resources',
            <span key="resources" className="numeric">
              {attributes['resource-count'].toLocaleString('en')}
            </span>,
          ],
          ['Last changed', <RelativeTime key="changed" at={attributes['latest-change-at']} />],
          ['Created', <RelativeTime key="created" at={attributes['created-at']} />],
          ['Average plan', planMs === null ? undefined : duration(planMs)],
          ['Average apply', applyMs === null ? undefined : duration(applyMs)],
          [
            'Tags',
            tags.length === 0 ? undefined : (
              <span key="tags" className="flex flex-wrap gap-1">
                {tags.map((tag) => (
                  <TagBadge key={tag.attributes.key} text={tagLabel(tag.attributes)} />
                ))}
              </span>
            ),
          ],
          [
            'Workspace ID',
            <span key="id" className="flex items-center gap-1">
              <code className="min-w-0 text-xs">{workspace.id}</code>
              <CopyButton text={workspace.id} label={`Copy ${workspace.id}`} />
            </span>,
          ],
          [
            'State',
            state === undefined ? undefined : (
              <span key="state" className="flex items-center gap-1">
                <WorkspaceLink
                  workspace={attributes.name}
                  tab="states"
                  search={{ version: state }}
                  className="text-accent hover:underline"
                >
                  <code className="text-xs">{state}</code>
                </WorkspaceLink>
                <CopyButton text={state} label={`Copy ${state}`} />
              </span>
            ),
          ],
        ]}
      />
    </Card>
  )
}
