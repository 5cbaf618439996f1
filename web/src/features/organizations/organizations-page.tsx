import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { Building2 } from 'lucide-react'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Ago } from '../../components/time.tsx'
import { useOrganizations } from './organizations.ts'

const route = getRouteApi('/frame/app')

/** Who has one organization is in it at once, unless they ask for the list. */
export function OrganizationsPage() {
  const { all } = route.useSearch()
  const { data, error, isPending, refetch } = useOrganizations()
  const only = data?.data.length === 1 ? data.data[0] : undefined
  if (only && !all) return <Navigate to="/app/$organization" params={{ organization: only.attributes.name }} replace />
  return (
    <Page title="Organizations">
      {isPending && <Skeleton />}
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <EmptyState icon={Building2} title="You are in no organization yet">
          <p>An owner of an organization can invite you: give them your username or your e-mail address.</p>
        </EmptyState>
      )}
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {data?.data.map(({ id, attributes }) => (
          <li key={id}>
            <Link
              to="/app/$organization"
              params={{ organization: attributes.name }}
              className="block rounded-lg border border-line bg-paper p-4 no-underline hover:border-accent"
            >
              <span className="font-medium">{attributes.name}</span>
              <span className="mt-1 block text-dim">
                created <Ago at={attributes['created-at']} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  )
}
