import type { IdentityProvider } from '@groundstate/contract/workspace-identity'
import type { ReactNode } from 'react'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { PROVIDERS, type WorkloadIdentity } from './workload-identity.ts'

/** The pages of the documentation. */
const GUIDES = {
  aws: <DocsLink page="aws">Set up AWS</DocsLink>,
  gcp: <DocsLink page="gcp">Set up Google Cloud</DocsLink>,
  azure: <DocsLink page="azure">Set up Azure</DocsLink>,
  vault: <DocsLink page="vault">Set up Vault</DocsLink>,
  kubernetes: <DocsLink page="kubernetes">Set up Kubernetes</DocsLink>,
  hcp: <DocsLink page="hcp">Set up HCP</DocsLink>,
  token: <DocsLink page="token">Use the token yourself</DocsLink>,
} as const satisfies Record<IdentityProvider, ReactNode>

type TrustPoliciesProps = {
  organization: string
  workspace: string
  /** The search parameter that names the open provider. */
  tab: string | undefined
  policies: WorkloadIdentity['trust-policies']
}

/** By cloud, what to configure there so that it trusts the runs of the workspace. */
export function TrustPolicies({ organization, workspace, tab, policies }: TrustPoliciesProps) {
  const tabs = Object.fromEntries(policies.map(({ provider }) => [provider, PROVIDERS[provider]]))
  const open = openTab(tabs, tab)
  const policy = policies.find(({ provider }) => provider === open)
  if (!policy) return null
  return (
    <Card
      title="Trust policies"
      about="Configured in the cloud, they make it trust the runs of this workspace only. Replace the words in capitals."
    >
      <ParamTabs
        label="Trust policies"
        tabs={tabs}
        open={open}
        page={{
          to: '/app/$organization/workspaces/$workspace/settings/workload-identity',
          params: { organization, workspace },
        }}
      />
      <div className="mt-4 space-y-4">
        {policy.snippets.map((snippet) => (
          <div key={snippet.title}>
            <h3 className="mb-1 font-medium">{snippet.title}</h3>
            <CodeBlock label={snippet.title} code={snippet.text} />
          </div>
        ))}
        {policy.note !== null && <p className="text-dim">{policy.note}</p>}
        <p>{GUIDES[policy.provider]}</p>
      </div>
    </Card>
  )
}
