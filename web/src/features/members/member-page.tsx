import { Page } from '../../components/page.tsx'

export function MemberPage() {
  return <Page title="Member">{null}</Page>
}
