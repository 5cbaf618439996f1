import { Scale } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { ExternalLink, TargetLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { PickList } from '../../components/pick-list.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { findPolicies } from './policies.ts'
import { ExampleSet, LevelBadge } from './policy-parts.tsx'
import { type PolicySetVersion, type ShownSet, useChangeRelation } from './policy-sets.ts'

type OverviewProps = { organization: string; shown: ShownSet }

/** The policies that are evaluated, with the source of each. */
export function SetOverview({ organization, shown }: OverviewProps) {
  const { set, policies, current } = shown
  const { versioned, permissions } = set.attributes
  if (current) return <VersionPolicies set={set.attributes.name} version={current} />
  const mayAttach = permissions['can-update'] && !versioned
  if (versioned || (policies.length === 0 && !mayAttach))
    return <NoPolicies organization={organization} shown={shown} />
  return (
    <div className="space-y-4">
      {policies.length === 0 && <NoPolicies organization={organization} shown={shown} />}
      {policies.length > 0 && (
        <Table
          label={`Policies of ${set.attributes.name}`}
          rows={policies.map(({ id, attributes }) => ({
            id,
            ...attributes,
            link: { to: '/app/$organization/policies/$policy', params: { organization, policy: id } },
          }))}
          columns={COLUMNS}
        />
      )}
      {mayAttach && <Attached organization={organization} shown={shown} />}
    </div>
  )
}

function NoPolicies({ organization, shown: { set, newest } }: OverviewProps) {
  const target = {
    to: '/app/$organization/policy-sets/$set',
    params: { organization, set: set.id },
    search: { tab: 'versions' },
  }
  return (
    <EmptyState icon={Scale} title="No policies yet">
      <p>
        {newest?.attributes.status === 'errored'
          ? 'The last version could not be used. '
          : 'Upload a directory with these files as the first version, or add single policies. '}
        <TargetLink leadsTo={target} className="text-accent underline">
          Versions
        </TargetLink>
        {' · '}
        <DocsLink page="policies">Write policies</DocsLink>
      </p>
      <ExampleSet />
    </EmptyState>
  )
}

function VersionPolicies({ set, version: { id, attributes } }: { set: string; version: PolicySetVersion }) {
  return (
    <div className="space-y-3">
      <p className="text-dim">
        From the version of <RelativeTime at={attributes['created-at']} /> <Source version={attributes} />
      </p>
      <Table
        label={`Policies of ${set}`}
        rows={attributes.policies.map((policy) => ({ ...policy, id: `${id} ${policy.name}`, link: undefined }))}
        columns={COLUMNS}
      />
    </div>
  )
}

/** The source of a version: its commit, or an upload. */
export function Source({ version }: { version: PolicySetVersion['attributes'] }) {
  const commit = version['ingress-attributes']
  if (!commit) return <>(uploaded)</>
  return (
    <>
      (commit{' '}
      <ExternalLink href={commit['commit-url']} className="font-mono">
        {commit['commit-sha'].slice(0, 8)}
      </ExternalLink>{' '}
      of {commit.identifier})
    </>
  )
}

type Row = PolicySetVersion['attributes']['policies'][number] & {
  id: string
  link: { to: string; params: Record<string, string> } | undefined
}

const COLUMNS: readonly Column<Row>[] = [
  {
    header: 'Policy',
    className: 'min-w-40',
    cell: ({ name, description, link }) => (
      <>
        {link ? (
          <TargetLink leadsTo={link} className="font-medium hover:underline">
            {name}
          </TargetLink>
        ) : (
          <span className="font-medium">{name}</span>
        )}
        {description !== '' && <span className="block text-dim">{description}</span>}
      </>
    ),
  },
  { header: 'Level', className: 'w-px', cell: (row) => <LevelBadge level={row['enforcement-level']} /> },
  { header: 'Query', cell: ({ query }) => <code className="break-all">{query}</code> },
]

/** Adds and removes single policies. */
function Attached({ organization, shown: { set, policies } }: OverviewProps) {
  const change = useChangeRelation(set.id)
  const act = (method: 'POST' | 'DELETE', id: string, done: string) =>
    change.mutate({ method, relation: 'policies', id }, { onSuccess: () => toast({ text: done }) })
  const except = new Set(policies.map(({ id }) => id))
  return (
    <Card title="Single policies" about="Changes apply to the next evaluations.">
      <PickList
        label="Single policies"
        items={policies.map(({ id, attributes }) => ({
          id,
          text: attributes.name,
          link: { to: '/app/$organization/policies/$policy', params: { organization, policy: id } },
        }))}
        none="No policies added."
        mayChange
        addLabel="Add policy"
        placeholder="Policy name"
        removeLabel={(name) => `Remove policy ${name}`}
        about={['policies', organization, 'outside of', set.id]}
        load={async (q, signal) => findPolicies(organization, except, [q, signal])}
        error={change.error}
        onAdd={({ id, text }) => act('POST', id, `${text} added`)}
        onRemove={({ id, text }) => act('DELETE', id, `${text} removed`)}
      />
    </Card>
  )
}
