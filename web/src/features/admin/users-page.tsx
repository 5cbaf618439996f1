import { Page } from '../../components/page.tsx'

export function UsersPage() {
  return <Page title="Users">{null}</Page>
}
