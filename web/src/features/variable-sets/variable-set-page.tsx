import { Page } from '../../components/page.tsx'

export function VariableSetPage() {
  return <Page title="Variable set">{null}</Page>
}
