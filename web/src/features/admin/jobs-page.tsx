import { Page } from '../../components/page.tsx'

export function JobsPage() {
  return <Page title="Failed jobs">{null}</Page>
}
