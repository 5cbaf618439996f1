import { Page } from '../../components/page.tsx'

export function TagsPage() {
  return <Page title="Tags">{null}</Page>
}
