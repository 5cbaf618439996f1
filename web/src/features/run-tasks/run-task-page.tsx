import { Page } from '../../components/page.tsx'

export function RunTaskPage() {
  return <Page title="Run task">{null}</Page>
}
