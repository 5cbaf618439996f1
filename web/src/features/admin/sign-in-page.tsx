import { Page } from '../../components/page.tsx'

export function SiteSignInPage() {
  return <Page title="Sign-in">{null}</Page>
}
