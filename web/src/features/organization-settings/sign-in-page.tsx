import { Page } from '../../components/page.tsx'

export function OrganizationSignInPage() {
  return <Page title="Sign-in">{null}</Page>
}
