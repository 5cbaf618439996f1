import { Page } from '../../components/page.tsx'

export function VariableSetsPage() {
  return <Page title="Variable sets">{null}</Page>
}
