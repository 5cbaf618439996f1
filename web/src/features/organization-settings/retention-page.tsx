import { Page } from '../../components/page.tsx'

export function RetentionPage() {
  return <Page title="Retention">{null}</Page>
}
