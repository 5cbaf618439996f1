import { Page } from '../../components/page.tsx'

export function QuotasPage() {
  return <Page title="Quotas">{null}</Page>
}
