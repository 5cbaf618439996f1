import { Page } from '../../components/page.tsx'

export function AgentPoolPage() {
  return <Page title="Agent pool">{null}</Page>
}
