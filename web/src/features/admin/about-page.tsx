import { Page } from '../../components/page.tsx'

export function AboutPage() {
  return <Page title="About">{null}</Page>
}
