import { getRouteApi, Outlet } from '@tanstack/react-router'
import { isNotFound } from '../../api/client.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { useOrganization } from './organizations.ts'

const route = getRouteApi('/frame/app/$organization')

/** The pages of an organization; one page for all of them where the person can't see it. */
export function OrganizationFrame() {
  const { organization: name } = route.useParams()
  const organization = useOrganization(name)
  if (organization.isPending) return <Skeleton />
  // A later failed check leaves the page as it is.
  if (organization.error && (isNotFound(organization.error) || organization.data === undefined))
    return <ErrorPage error={organization.error} what="organization" onRetry={() => void organization.refetch()} />
  return <Outlet />
}
