import { getRouteApi, Outlet } from '@tanstack/react-router'
import { failureOf } from '../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { TitleScope } from '../../components/page.tsx'
import { useOrganization } from './organizations.ts'

const route = getRouteApi('/frame/app/$organization')

/** Layout of the pages of an organization; an error page if the user can't see it. */
export function OrganizationFrame() {
  const { organization: name } = route.useParams()
  const organization = useOrganization(name)
  if (organization.isPending) return <Skeleton />
  const failure = failureOf(organization)
  if (failure) return <ErrorPage {...failure} what="organization" />
  return (
    <TitleScope value={name}>
      <Outlet />
    </TitleScope>
  )
}
