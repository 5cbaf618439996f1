import { getRouteApi } from '@tanstack/react-router'
import { Webhook } from 'lucide-react'
import type { ReactNode } from 'react'
import { buttonClass } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { TargetLink, WorkspaceLink } from '../../components/links.tsx'
import { Pager } from '../../components/pager.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { RepositoryProblem } from '../workspace-repository/repository-problem.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { CommitStatuses } from './commit-statuses.tsx'
import { DecisionLine } from './decision-list.tsx'
import { DeliveryCommit, ReplayButton, SOURCES } from './delivery-item.tsx'
import { type ShownDecision, useWorkspaceDecisions } from './vcs-deliveries.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/deliveries')

/** Why a push started a run in the workspace, or why not. */
export function DeliveriesTab(): ReactNode {
  const { organization, workspace } = useOpenWorkspace()
  const { page } = route.useSearch()
  const navigate = route.useNavigate()
  const { name, permissions, 'vcs-repo': repository } = workspace.attributes
  const mayManage = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const { data, fallback } = loaded(useWorkspaceDecisions(organization, workspace.id, page), {
    rows: 6,
    label: 'Loading the deliveries',
  })
  if (!data) return fallback
  if (data.rows.length === 0 && page === undefined)
    return repository === null ? (
      <EmptyState
        icon={Webhook}
        title="No repository"
        actions={
          permissions['can-update'] && (
            <WorkspaceLink workspace={name} tab="settings/repository" className={buttonClass({ kind: 'primary' })}>
              Choose a repository
            </WorkspaceLink>
          )
        }
      >
        <p>
          With a repository, pushes start runs and pull requests get plans. Here you see why each push started a run or
          not. <DocsLink page="repositories">Repositories</DocsLink>
        </p>
      </EmptyState>
    ) : (
      <div className="space-y-4">
        <RepositoryProblem workspace={workspace.attributes} />
        <EmptyState icon={Webhook} title="No deliveries yet">
          <p>
            {repository['display-identifier']} has reported nothing yet.
            {workspace.attributes['vcs-repo-problem'] === null &&
              ' Push a commit, and it appears here with what it started and why.'}
          </p>
        </EmptyState>
      </div>
    )
  return (
    <section aria-label="Deliveries" className="space-y-3">
      <RepositoryProblem workspace={workspace.attributes} />
      <p className="max-w-3xl text-dim">
        Each push, tag and pull request of the repository, and why it started a run here or not.
      </p>
      <ol className="divide-y divide-line rounded-lg border border-line bg-paper">
        {data.rows.map((decision) => (
          <DecisionItem
            key={decision.id}
            {...{ organization, workspace: name, decision }}
            // Events of an earlier repository are not decided for this workspace any more.
            isReplayable={
              mayManage && decision.delivery?.attributes['repository-identifier'] === repository?.identifier
            }
          />
        ))}
      </ol>
      <Pager
        pagination={data.pagination}
        onPage={(number) => void navigate({ search: { page: number === 1 ? undefined : number } })}
      />
      <CommitStatuses />
    </section>
  )
}

type DecisionItemProps = { organization: string; workspace: string; decision: ShownDecision; isReplayable: boolean }

function DecisionItem({ organization, workspace, decision, isReplayable }: DecisionItemProps) {
  const { delivery } = decision
  const connection = delivery?.relationships['oauth-client'].data?.id
  const source = delivery && SOURCES[delivery.attributes.source]
  return (
    <li className="space-y-1.5 px-3 py-2.5">
      {delivery && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="min-w-0 font-medium break-words">
            {connection === undefined ? (
              delivery.attributes.title
            ) : (
              <TargetLink
                leadsTo={{
                  to: '/app/$organization/connections/$connection',
                  params: { organization, connection },
                  search: { tab: 'deliveries', delivery: delivery.id },
                }}
                className="hover:underline"
              >
                {delivery.attributes.title}
              </TargetLink>
            )}
          </span>
          <DeliveryCommit delivery={delivery} />
          <span className="min-w-0 flex-1 basis-40 text-dim">
            {delivery.attributes['sender-username'] !== null && `by ${delivery.attributes['sender-username']} `}
            {source !== undefined && `(${source})`}
          </span>
          <RelativeTime at={delivery.attributes['received-at']} className="text-dim" />
        </div>
      )}
      <DecisionLine decision={decision} workspace={workspace} />
      {delivery && isReplayable && decision.attributes.decision === 'skip' && (
        <ReplayButton {...{ organization, delivery }} mayManage />
      )}
    </li>
  )
}
