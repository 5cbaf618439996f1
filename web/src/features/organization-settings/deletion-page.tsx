import { Page } from '../../components/page.tsx'

export function DeletionPage() {
  return <Page title="Delete organization">{null}</Page>
}
