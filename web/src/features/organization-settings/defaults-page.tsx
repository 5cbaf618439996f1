import { Page } from '../../components/page.tsx'

export function DefaultsPage() {
  return <Page title="Defaults">{null}</Page>
}
