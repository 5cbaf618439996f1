import { Page } from '../../components/page.tsx'

export function RunTriggersPage() {
  return <Page title="Run triggers">{null}</Page>
}
