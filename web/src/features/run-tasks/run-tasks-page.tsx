import { Page } from '../../components/page.tsx'

export function RunTasksPage() {
  return <Page title="Run tasks">{null}</Page>
}
