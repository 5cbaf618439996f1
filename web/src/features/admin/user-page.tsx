import { Page } from '../../components/page.tsx'

export function UserPage() {
  return <Page title="User">{null}</Page>
}
