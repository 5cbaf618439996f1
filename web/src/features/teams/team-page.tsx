import { Page } from '../../components/page.tsx'

export function TeamPage() {
  return <Page title="Team">{null}</Page>
}
