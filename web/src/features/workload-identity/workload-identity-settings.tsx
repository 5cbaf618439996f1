import { getRouteApi } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, Notice, loaded } from '../../components/feedback.tsx'
import { ExternalLink, WorkspaceLink } from '../../components/links.tsx'
import { capitalized } from '../../components/numbers.ts'
import { type Column, Table } from '../../components/table.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { TokenPreviewCard } from './token-preview.tsx'
import { TrustPolicies } from './trust-policies.tsx'
import { PROVIDERS, type WorkloadIdentity, useWorkloadIdentity } from './workload-identity.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/settings/workload-identity')

/** How clouds recognise the runs of the workspace, and the policies by which they trust them. */
export function WorkloadIdentitySettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { tab } = route.useSearch()
  const { data, fallback } = loaded(useWorkloadIdentity(workspace.id), {
    rows: 8,
    label: 'Loading the workload identity',
  })
  if (!data) return fallback
  const { name } = workspace.attributes
  return (
    <div className="space-y-4">
      <p className="text-dim">
        Runs prove their identity to a cloud with a token that is valid for one phase, so no key is stored here.{' '}
        <DocsLink page="workload-identity">How it works</DocsLink>
      </p>
      <IssuerProblem identity={data} />
      <Identity identity={data} />
      <Credentials workspace={name} identity={data} />
      <TrustPolicies {...{ organization, tab }} workspace={name} policies={data['trust-policies']} />
      <TokenPreviewCard workspaceId={workspace.id} identity={data} />
    </div>
  )
}

/** Why clouds cannot verify tokens, and how they can. */
function IssuerProblem({ identity }: { identity: WorkloadIdentity }) {
  const problem = identity['issuer-problem']
  if (problem === null) return null
  return (
    <Notice tone="warn">
      {`${capitalized(problem)}. `}
      <DocsLink page="workload-identity" anchor="publish-the-documents">
        Publish the documents
      </DocsLink>
    </Notice>
  )
}

function Identity({ identity }: { identity: WorkloadIdentity }) {
  const { subjects } = identity
  return (
    <Card title="Identity">
      <div className="space-y-4">
        <div className="space-y-2">
          <p className="font-medium">Subject</p>
          <CodeBlock label="the subject of plans" code={subjects.plan} />
          <CodeBlock label="the subject of applies" code={subjects.apply} />
        </div>
        <DescriptionList
          facts={[
            [
              'Issuer',
              <code key="issuer" className="break-all">
                {identity.issuer}
              </code>,
            ],
            [
              'Documents',
              <span key="documents" className="break-all">
                <ExternalLink href={identity['openid-configuration-url']}>Configuration</ExternalLink>
                {' and '}
                <ExternalLink href={identity['jwks-url']}>public keys</ExternalLink>
                {identity['issuer-is-external'] && (
                  <span className="text-dim"> (exported to this address, not served by this server)</span>
                )}
              </span>,
            ],
          ]}
        />
      </div>
    </Card>
  )
}

type Credential = WorkloadIdentity['credentials'][number] & { id: string }

const COLUMNS: readonly Column<Credential>[] = [
  {
    header: 'Service',
    cell: ({ provider, tag }) => (
      <>
        <span className="font-medium">{PROVIDERS[provider]}</span>
        {tag !== null && <span className="block font-mono text-[0.9285em] text-dim">{tag}</span>}
      </>
    ),
  },
  {
    header: 'Audience',
    cell: ({ audience }) =>
      audience === null ? (
        <span className="text-dim">set by a sensitive variable</span>
      ) : (
        <code className="break-all">{audience}</code>
      ),
  },
  { header: 'Phases', cell: ({ phases }) => phases.join(' and ') },
]

/** The credentials that variables configure, and why they would not work. */
function Credentials({ workspace, identity }: { workspace: string; identity: WorkloadIdentity }) {
  const { credentials, problems } = identity
  const rows = credentials.map((each): Credential => ({ ...each, id: `${each.provider} ${each.tag ?? ''}` }))
  const variables = (
    <WorkspaceLink workspace={workspace} tab="variables" className="text-accent underline">
      Variables
    </WorkspaceLink>
  )
  return (
    <Card
      title="Credentials"
      about={rows.length > 0 ? <>Configured by environment variables. {variables}</> : undefined}
      isFlush={rows.length > 0 && problems.length === 0}
    >
      <div className="space-y-3">
        {problems.map(({ message, phases }) => (
          <Notice key={`${phases.join()} ${message}`} tone="bad">
            {capitalized(phases.join(' and '))} will fail: {message}
          </Notice>
        ))}
        {rows.length === 0 && problems.length === 0 && (
          <EmptyState icon={KeyRound} title="No credentials yet">
            <p>
              Environment variables such as <code>TFC_AWS_PROVIDER_AUTH</code> configure them, here or in a variable
              set. {variables}
            </p>
            <p>
              <DocsLink page="workload-identity">Set up a cloud</DocsLink>
            </p>
          </EmptyState>
        )}
        {rows.length > 0 && <Table label="Credentials" rows={rows} columns={COLUMNS} />}
      </div>
    </Card>
  )
}
