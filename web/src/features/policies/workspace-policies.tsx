import type { appliedPolicySetSchema } from '@groundstate/contract/policy-sets'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { Ban, CircleCheck, CircleDashed, Scale } from 'lucide-react'
import { useState } from 'react'
import { get, queryString } from '../../api/client.ts'
import { includedOf, keepWithin } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge, StatusText, TagBadge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { SetLink, selectorText } from './policy-parts.tsx'
import { POLICY_SETS } from './policy-sets.ts'

type AppliedSet = Wire<typeof appliedPolicySetSchema>
type Reason = AppliedSet['attributes']['reasons'][number]

function useAppliedSets(organization: string, workspaceId: string, page: number | undefined) {
  const query = queryString({ 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: [POLICY_SETS, organization, 'applied', workspaceId, query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof appliedPolicySetSchema>>(`/workspaces/${workspaceId}/applied-policy-sets${query}`, signal),
    placeholderData: keepWithin(organization),
    // Tags of the workspace and of its project, reserved keys, and policies that sets have.
    meta: { dependsOn: ['policies', 'workspaces', 'projects', 'organizations'] },
  })
}

const STATES = {
  applied: { text: 'applies', tone: 'good', icon: CircleCheck },
  excluded: { text: 'excluded', tone: 'quiet', icon: Ban },
  empty: { text: 'no policies', tone: 'quiet', icon: CircleDashed },
} as const

/** The policy sets that select a workspace, and why each applies or does not. */
export function WorkspacePolicies() {
  const { organization, document, workspace } = useOpenWorkspace()
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(useAppliedSets(organization, workspace.id, page), {
    label: 'Loading the policy sets',
  })
  const project = includedOf(document).one('projects', workspace.relationships.project)
  const isEmpty = data?.data.length === 0 && data.meta.pagination['total-count'] === 0
  return (
    <Card
      title="Policies"
      isFlush={data !== undefined && !isEmpty}
      about={
        <>
          Policy sets that check the runs of this workspace.{' '}
          <DocsLink page="policies" anchor="choose-the-workspaces">
            Choose the workspaces
          </DocsLink>
        </>
      }
      actions={<CopyCurl path={`/workspaces/${workspace.id}/applied-policy-sets`} />}
    >
      {!data && fallback}
      {isEmpty && (
        <EmptyState icon={Scale} title="No policy sets">
          <p>
            No policy set selects this workspace, its project or its tags.{' '}
            <TargetLink
              leadsTo={{ to: '/app/$organization/policies', params: { organization } }}
              className="text-accent underline"
            >
              Policy sets of {organization}
            </TargetLink>
          </p>
        </EmptyState>
      )}
      {data && !isEmpty && (
        <Table
          label={`Policy sets of ${workspace.attributes.name}`}
          rows={data.data}
          columns={columns(organization, project?.attributes.name)}
        />
      )}
      <Pager pagination={data?.meta.pagination} onPage={setPage} />
    </Card>
  )
}

function columns(organization: string, project: string | undefined): readonly Column<AppliedSet>[] {
  return [
    {
      header: 'Policy set',
      className: 'min-w-32',
      cell: ({ id, attributes: { name, description } }) => (
        <>
          <SetLink organization={organization} set={{ id, name }} />
          {description !== '' && <span className="line-clamp-1 text-dim">{description}</span>}
        </>
      ),
    },
    {
      header: 'Status',
      className: 'w-px',
      cell: ({ attributes: { status } }) => <StatusText {...STATES[status]} />,
    },
    {
      header: 'Why',
      cell: ({ attributes: { reasons, exclusions } }) => (
        <>
          <Reasons label="selected by" reasons={reasons} project={project} />
          <Reasons label="excluded by" reasons={exclusions} project={project} />
        </>
      ),
    },
    {
      header: 'Policies',
      className: 'hidden sm:table-cell',
      cell: ({ attributes: { 'mandatory-count': mandatory, 'advisory-count': advisory, overridable } }) => (
        <span className="flex flex-wrap gap-1">
          {mandatory > 0 && <Badge tone="accent" text={`${mandatory.toLocaleString('en')} mandatory`} />}
          {advisory > 0 && <Badge text={`${advisory.toLocaleString('en')} advisory`} />}
          {mandatory > 0 && !overridable && <Badge text="no overrides" />}
        </span>
      ),
    },
  ]
}

type ReasonsProps = { label: string; reasons: readonly Reason[]; project: string | undefined }

function Reasons({ label, reasons, project }: ReasonsProps) {
  if (reasons.length === 0) return null
  return (
    <span className="flex flex-wrap items-center gap-x-1.5 gap-y-0.5">
      <span className="text-dim">{label}</span>
      {reasons.map((reason) => (
        <span key={`${reason.scope} ${reason['tag-key']} ${reason['tag-value']}`}>
          {reason.scope === 'organization' && 'all workspaces'}
          {reason.scope === 'project' && `project ${project ?? ''}`}
          {reason.scope === 'workspace' && 'this workspace'}
          {reason.scope === 'tag' && (
            <>
              tag <TagBadge text={selectorText({ key: reason['tag-key'] ?? '', value: reason['tag-value'] })} />
            </>
          )}
        </span>
      ))}
    </span>
  )
}
