import { Page } from '../../components/page.tsx'

export function InvitationPage() {
  return <Page title="Invitation">{null}</Page>
}
