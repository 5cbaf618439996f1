import { Page } from '../../components/page.tsx'

export function AuditTrailPage() {
  return <Page title="Audit trail">{null}</Page>
}

export function SiteAuditTrailPage() {
  return <Page title="Audit trail">{null}</Page>
}
