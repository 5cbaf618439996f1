import { Page } from '../../components/page.tsx'

export function TeamsPage() {
  return <Page title="Teams">{null}</Page>
}
