import { Page } from '../../components/page.tsx'

export function OrganizationTokensPage() {
  return <Page title="Tokens">{null}</Page>
}
