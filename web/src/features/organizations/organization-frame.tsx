import { getRouteApi, Outlet } from '@tanstack/react-router'
import { failureOf } from '../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { useOrganization } from './organizations.ts'

const route = getRouteApi('/frame/app/$organization')

/** The pages of an organization; one page for all of them where the person can't see it. */
export function OrganizationFrame() {
  const { organization: name } = route.useParams()
  const organization = useOrganization(name)
  if (organization.isPending) return <Skeleton />
  const failure = failureOf(organization)
  if (failure) return <ErrorPage {...failure} what="organization" />
  return <Outlet />
}
