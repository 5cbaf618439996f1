import { Page } from '../../components/page.tsx'

export function DocumentPage() {
  return <Page title="Documentation">{null}</Page>
}
