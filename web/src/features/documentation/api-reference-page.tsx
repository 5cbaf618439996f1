import { Page } from '../../components/page.tsx'

export function ApiReferencePage() {
  return <Page title="API reference">{null}</Page>
}
