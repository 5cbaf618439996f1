import { getRouteApi } from '@tanstack/react-router'
import { Plus, Scale } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { ParamTabs } from '../../components/tabs.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { usePolicies } from './policies.ts'
import { ExampleSet, LevelBadge, SetLink, VersionStatus } from './policy-parts.tsx'
import { type ListedSet, type Policy, scopeText, usePolicySets } from './policy-sets.ts'

const NewSetDialog = lazy(async () => import('./new-set-dialog.tsx'))
const NewPolicyDialog = lazy(async () => import('./new-policy-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/policies')

const TABS = { sets: 'Policy sets', policies: 'Single policies' } as const

/** The policy sets of an organization, and the policies that are attached to sets one by one. */
export function PoliciesPage() {
  const { organization } = route.useParams()
  const { tab, new: isNew = false } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-sentinel'] === true
  const isSets = tab !== 'policies'
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayManage && (
    <Button label={isSets ? 'New policy set' : 'New policy'} kind="primary" icon={Plus} onClick={() => setNew(true)} />
  )
  const Dialog = isSets ? NewSetDialog : NewPolicyDialog
  return (
    <Page
      title="Policies"
      documentTitle={`${TABS[isSets ? 'sets' : 'policies']} · ${organization}`}
      about="Rules that plans are checked against, written for the Open Policy Agent."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/${isSets ? 'policy-sets' : 'policies'}`} />
          {create}
        </>
      }
    >
      <ParamTabs
        label="Policies"
        tabs={TABS}
        open={isSets ? 'sets' : 'policies'}
        page={{ to: '/app/$organization/policies', params: { organization } }}
      />
      <div className="mt-4">{isSets ? <Sets create={create} /> : <SinglePolicies create={create} />}</div>
      {isNew && mayManage && (
        <Suspense>
          <Dialog organization={organization} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function usePageSearch() {
  const { q, page } = route.useSearch()
  const navigate = route.useNavigate()
  return {
    search: { q, page },
    onSearch: (change: { q?: string | undefined; page?: number | undefined }, replace: boolean) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace }),
  }
}

function Sets({ create }: { create: React.ReactNode }) {
  const { organization } = route.useParams()
  const page = usePageSearch()
  return (
    <SearchedList
      noun="policy sets"
      query={usePolicySets(organization, page.search)}
      {...page}
      empty={
        <EmptyState icon={Scale} title="No policy sets yet" actions={create}>
          <p>
            A policy set checks the plan of each run before it is applied. A failed mandatory policy stops the run, an
            advisory one only warns. A set is a directory with these two files.{' '}
            <DocsLink page="policies">Write policies</DocsLink>
          </p>
          <ExampleSet />
          {create === false && <p>Creating a set requires the permission to manage policies.</p>}
        </EmptyState>
      }
    >
      {(rows) => <Table label={`Policy sets of ${organization}`} rows={rows} columns={setColumns(organization)} />}
    </SearchedList>
  )
}

function setColumns(organization: string): readonly Column<ListedSet>[] {
  return [
    {
      header: 'Name',
      className: 'min-w-40',
      cell: ({ set }) => (
        <>
          <SetLink organization={organization} set={{ id: set.id, name: set.attributes.name }} />
          {set.attributes.description !== '' && (
            <span className="line-clamp-1 text-dim">{set.attributes.description}</span>
          )}
        </>
      ),
    },
    { header: 'Applies to', cell: ({ set }) => scopeText(set) },
    { header: 'Kind', className: 'hidden md:table-cell', cell: () => <Badge text="OPA" /> },
    {
      header: 'Policies',
      className: 'w-px text-right',
      cell: ({ set }) => <Count value={set.attributes['policy-count']} />,
    },
    {
      header: 'Last version',
      className: 'hidden sm:table-cell',
      cell: ({ set, newest }) =>
        set.attributes.versioned || newest ? (
          <VersionStatus version={newest} />
        ) : (
          <span className="text-dim">single policies</span>
        ),
    },
    {
      header: 'Updated',
      className: 'hidden w-px whitespace-nowrap text-dim lg:table-cell',
      cell: ({ set }) => <RelativeTime at={set.attributes['updated-at']} />,
    },
  ]
}

function SinglePolicies({ create }: { create: React.ReactNode }) {
  const { organization } = route.useParams()
  const page = usePageSearch()
  return (
    <SearchedList
      noun="policies"
      query={usePolicies(organization, page.search)}
      {...page}
      empty={
        <EmptyState icon={Scale} title="No single policies yet" actions={create}>
          <p>
            A single policy is written here and added to policy sets. To keep rules in a repository or an archive,
            create a policy set instead. <DocsLink page="policies">Write policies</DocsLink>
          </p>
        </EmptyState>
      }
    >
      {(rows) => <Table label={`Policies of ${organization}`} rows={rows} columns={policyColumns(organization)} />}
    </SearchedList>
  )
}

function policyColumns(organization: string): readonly Column<Policy>[] {
  return [
    {
      header: 'Name',
      className: 'min-w-40',
      cell: ({ id, attributes }) => (
        <>
          <span className="flex flex-wrap items-center gap-2">
            <TargetLink
              leadsTo={{ to: '/app/$organization/policies/$policy', params: { organization, policy: id } }}
              className="font-medium hover:underline"
            >
              {attributes.name}
            </TargetLink>
            {!attributes['is-uploaded'] && <Badge tone="warn" text="no code" />}
          </span>
          {attributes.description !== '' && <span className="line-clamp-1 text-dim">{attributes.description}</span>}
        </>
      ),
    },
    { header: 'Level', cell: ({ attributes }) => <LevelBadge level={attributes['enforcement-level']} /> },
    {
      header: 'Query',
      className: 'hidden md:table-cell',
      cell: ({ attributes }) => <code className="break-all">{attributes.query}</code>,
    },
    {
      header: 'Sets',
      className: 'w-px text-right',
      cell: ({ attributes }) => <Count value={attributes['policy-set-count']} />,
    },
  ]
}
