import { compareVersions } from '@groundstate/contract/version-constraint'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Badge } from '../../components/status.tsx'
import { Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type MODULES, type PROVIDERS, type Usage, type Uses, useUses } from './registry.ts'

type UsageTableProps = {
  organization: string
  type: typeof MODULES | typeof PROVIDERS
  id: string
  noun: string
  latest: string | null
}

/** The workspaces that use a module or a provider, the latest versions first. */
export function UsageTable({ organization, type, id, noun, latest }: UsageTableProps) {
  const { data: uses, fallback } = loaded(useUses(organization, type, id))
  if (!uses) return fallback
  if (uses.rows.length === 0 && uses.hidden === 0)
    return (
      <EmptyState
        title="Not used by any workspace"
        text={`A workspace appears here after a run has installed the ${noun}.`}
      />
    )
  const rows = uses.rows.map((use) => ({ ...use, id: `${use.workspace} ${use.version}` })).toSorted(byVersion)
  return (
    <div className="space-y-3">
      {rows.length > 0 && (
        <Table
          label={`Workspaces that use the ${noun}`}
          rows={rows}
          columns={[
            {
              header: 'Workspace',
              cell: ({ workspace }) => <WorkspaceLink workspace={workspace} className="font-medium hover:underline" />,
            },
            { header: 'Version', cell: ({ version }) => <UsedVersion version={version} latest={latest} /> },
            { header: 'Last use', cell: ({ usedAt }) => <RelativeTime at={usedAt} /> },
          ]}
        />
      )}
      {uses.hidden > 0 && (
        <p className="text-dim">
          {counted(uses.hidden, 'workspace')} that you don’t have access to {uses.hidden === 1 ? 'uses' : 'use'} it,
          too.
        </p>
      )}
    </div>
  )
}

/** Unknown versions come last. */
function byVersion(a: Usage, b: Usage) {
  if (a.version === null || b.version === null) return Number(a.version === null) - Number(b.version === null)
  return compareVersions(b.version, a.version) || (a.workspace < b.workspace ? -1 : 1)
}

function UsedVersion({ version, latest }: { version: string | null; latest: string | null }) {
  if (version === null) return <span className="text-dim">unknown, in the state</span>
  const isBehind = latest !== null && compareVersions(latest, version) > 0
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <code>{version}</code>
      {isBehind && <Badge tone="warn" title={`The latest version is ${latest}`} text="behind" />}
    </span>
  )
}

/** The names of the workspaces that use a version, or any one. */
function namesOf(uses: Uses, version: string | undefined) {
  const rows = uses.rows.filter((use) => version === undefined || use.version === version)
  return [...new Set(rows.map(({ workspace }) => workspace))]
}

/** The number of workspaces that use a version, or any one, those without access included. */
export function usersCount(uses: Uses, version?: string) {
  const ofVersion = uses.hiddenVersions.find((each) => each.version === version)?.count ?? 0
  return namesOf(uses, version).length + (version === undefined ? uses.hidden : ofVersion)
}

const MAX_SHOWN = 5

/** The workspaces that a deletion affects, as a sentence; undefined if there are none. */
function usersOf(uses: Uses, version: string | undefined) {
  const shown = namesOf(uses, version).slice(0, MAX_SHOWN)
  const total = usersCount(uses, version)
  if (total === 0) return undefined
  const others = total - shown.length
  const rest = others === 0 ? [] : [counted(others, shown.length > 0 ? 'other workspace' : 'workspace')]
  return `Used by ${[...shown, ...rest].join(', ')}. Later runs fail to install it.`
}

type Deletion = { name: string; version?: string; path: string }

/** The confirmation of a deletion, and its path. A deletion that affects workspaces needs the name, and is forced. */
export function deletionOf(uses: Uses | undefined, { name, version, path }: Deletion) {
  const users = uses && usersOf(uses, version)
  return {
    consequence: users ?? `${uses ? 'No workspace uses it. ' : ''}It can’t be restored.`,
    action: users === undefined ? `Delete ${name}` : 'Delete anyway',
    ...((users !== undefined || version === undefined) && { typedName: name }),
    path: users === undefined ? path : `${path}?force=true`,
  }
}
