import { Page } from '../../components/page.tsx'

export function AdminOrganizationPage() {
  return <Page title="Organization">{null}</Page>
}
