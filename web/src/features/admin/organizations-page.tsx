import { Page } from '../../components/page.tsx'

export function AdminOrganizationsPage() {
  return <Page title="Organizations">{null}</Page>
}
