import { Page } from '../../components/page.tsx'

export function AgentPoolsPage() {
  return <Page title="Agents">{null}</Page>
}
