import { EmptyState, loaded } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type MODULES, type PROVIDERS, type Uses, useUses } from './registry.ts'

type UsageTableProps = { organization: string; type: typeof MODULES | typeof PROVIDERS; id: string; noun: string }

/** The workspaces that use a module or a provider, each with its version. */
export function UsageTable({ organization, type, id, noun }: UsageTableProps) {
  const { data: uses, fallback } = loaded(useUses(organization, type, id))
  if (!uses) return fallback
  if (uses.rows.length === 0 && uses.hidden === 0)
    return (
      <EmptyState
        title="Not used by any workspace"
        text={`A workspace appears here after a run has installed the ${noun}.`}
      />
    )
  const rows = uses.rows.map((use) => ({ ...use, id: `${use.workspace} ${use.version}` }))
  return (
    <div className="space-y-3">
      {rows.length > 0 && (
        <Table
          label={`Workspaces that use the ${noun}`}
          rows={rows}
          columns={[
            { header: 'Workspace', cell: ({ workspace }) => <WorkspaceLink workspace={workspace} /> },
            { header: 'Version', cell: ({ version }) => <code>{version}</code> },
            { header: 'Last run', cell: ({ usedAt }) => <RelativeTime at={usedAt} /> },
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

/** The workspaces that a deletion affects, as a sentence; undefined if there are none. */
export function usersOf(uses: Uses | undefined, version?: string) {
  if (!uses) return undefined
  const names = uses.rows.filter((use) => version === undefined || use.version === version)
  const shown = [...new Set(names.map(({ workspace }) => workspace))]
  const others = shown.length - MAX_SHOWN + uses.hidden
  if (shown.length === 0 && uses.hidden === 0) return undefined
  const rest = Math.max(uses.hidden, others)
  const parts = [...shown.slice(0, MAX_SHOWN), ...(rest > 0 ? [counted(rest, 'other workspace')] : [])]
  return `Used by ${parts.join(', ')}: their next runs fail to install it.`
}

const MAX_SHOWN = 5
