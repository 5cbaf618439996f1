import type { organizationSchema } from '@groundstate/contract/organizations'
import type { Wire } from '@groundstate/contract/responses'
import { Link, Navigate, getRouteApi } from '@tanstack/react-router'
import { Building2, CircleX, Hand, Plus } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOverview } from '../overview/overview.ts'
import { useSession } from '../session/session.ts'
import { useOrganizations } from './organizations.ts'

const NewOrganizationDialog = lazy(async () => import('./new-organization-dialog.tsx'))

const route = getRouteApi('/frame/app')

/** Counts are omitted for more organizations than this, since each takes a request. */
const MAX_COUNTED = 12

/** The list of organizations. Users with only one are redirected to it, unless they opened the list explicitly. */
export function OrganizationsPage() {
  const { all, new: isNew = false } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useOrganizations())
  const mayCreate = useSession().data?.attributes.permissions['can-create-organizations'] ?? false
  const only = data?.data.length === 1 ? data.data[0] : undefined
  if (only && !all && !isNew)
    return <Navigate to="/app/$organization" params={{ organization: only.attributes.name }} replace />
  const setNew = (open: boolean) => void navigate({ search: { all: true, ...(open && { new: true }) }, replace: true })
  const create = (
    <Button
      label="New organization"
      icon={Plus}
      reason={mayCreate ? undefined : 'only site administrators can create organizations here'}
      kind={data?.data.length === 0 ? 'primary' : 'plain'}
      onClick={() => setNew(true)}
    />
  )
  return (
    <Page
      title="Organizations"
      actions={
        data?.data.length !== 0 && (
          <>
            <CopyCurl path="/organizations" />
            {create}
          </>
        )
      }
    >
      {!data && fallback}
      {data?.data.length === 0 && (
        <EmptyState
          icon={Building2}
          title="No organizations yet"
          actions={create}
          text="Ask an owner of an organization to invite your email address."
        />
      )}
      <ul aria-label="Organizations" className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {data?.data.map((organization) => (
          <li key={organization.id}>
            <OrganizationTile organization={organization.attributes} hasCounts={data.data.length <= MAX_COUNTED} />
          </li>
        ))}
      </ul>
      {isNew && mayCreate && (
        <Suspense>
          <NewOrganizationDialog onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

type OrganizationTileProps = { organization: Wire<typeof organizationSchema>['attributes']; hasCounts: boolean }

function OrganizationTile({ organization, hasCounts }: OrganizationTileProps) {
  const { name, permissions } = organization
  const workspaces = useOverview(name, { isEnabled: hasCounts }).data?.overview.workspaces
  return (
    <Link
      to="/app/$organization"
      params={{ organization: name }}
      className="block h-full space-y-1.5 rounded-lg border border-line bg-paper p-4 no-underline hover:border-accent"
    >
      <span className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 text-base font-semibold">{name}</span>
        <Badge text={permissions['can-destroy'] ? 'owner' : 'member'} />
      </span>
      <span className="flex min-h-6 flex-wrap items-center gap-2">
        {workspaces && <span className="numeric text-dim">{counted(workspaces.total, 'workspace')}</span>}
        {workspaces !== undefined && workspaces['needs-approval'] > 0 && (
          <Badge
            tone="accent"
            icon={Hand}
            text={`${counted(workspaces['needs-approval'], 'needs', 'need')} approval`}
          />
        )}
        {workspaces !== undefined && workspaces.errored > 0 && (
          <Badge tone="bad" icon={CircleX} text={`${workspaces.errored.toLocaleString('en')} errored`} />
        )}
      </span>
      <span className="block text-dim">
        created <RelativeTime at={organization['created-at']} />
      </span>
    </Link>
  )
}
