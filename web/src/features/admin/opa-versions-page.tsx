import { getRouteApi } from '@tanstack/react-router'
import { Pencil, Plus, Scale, Trash2 } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type OpaVersion, deleteOpaVersion, useOpaVersions } from './opa-versions.ts'

const OpaVersionDialog = lazy(async () => import('./opa-version-dialog.tsx'))

const route = getRouteApi('/frame/app/admin/opa-versions')

/** The versions of OPA that policy sets may use. */
export function OpaVersionsPage() {
  const { q, page, new: isNew = false, edit } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useOpaVersions({ q, page })
  const edited = query.data?.data.find(({ id }) => id === edit)
  const open = (search: { new?: true; edit?: string }) =>
    void navigate({ search: (before) => ({ ...before, new: undefined, edit: undefined, ...search }), replace: true })
  const create = <Button label="New version" kind="primary" icon={Plus} onClick={() => open({ new: true })} />
  return (
    <Page
      title="OPA versions"
      about={
        <>
          Agents download the Open Policy Agent to evaluate policies.{' '}
          <DocsLink page="policies" anchor="choose-the-version-of-opa">
            Choose the version of OPA
          </DocsLink>
        </>
      }
      actions={
        <>
          <CopyCurl path="/admin/opa-versions" />
          {create}
        </>
      }
    >
      <SearchedList
        noun="versions"
        query={query}
        search={{ q, page }}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={
          <EmptyState
            icon={Scale}
            title="No OPA versions yet"
            text="Without a version, the policies of runs can’t be evaluated."
            actions={create}
          />
        }
      >
        {(rows) => <Table label="OPA versions" rows={rows} columns={columns((id) => open({ edit: id }))} />}
      </SearchedList>
      {(isNew || edited) && (
        <Suspense>
          <OpaVersionDialog key={edited?.id} version={edited} onClose={() => open({})} />
        </Suspense>
      )}
    </Page>
  )
}

function columns(onEdit: (id: string) => void): readonly Column<OpaVersion>[] {
  return [
    {
      header: 'Version',
      cell: ({ attributes }) => (
        <span className="flex flex-wrap items-center gap-1.5">
          <span className="font-mono font-medium">{attributes.version}</span>
          <Marks version={attributes} />
        </span>
      ),
    },
    {
      header: 'Platforms',
      className: 'hidden md:table-cell',
      cell: ({ attributes }) => attributes.archs.map(({ os, arch }) => `${os}/${arch}`).join(', '),
    },
    { header: 'Policy sets', cell: ({ attributes }) => <Users version={attributes} /> },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'w-px text-right',
      cell: ({ id, attributes: { version, usage } }) => (
        <RowMenu
          label={`Actions for ${version}`}
          actions={[
            { text: 'Edit', icon: Pencil, onSelect: () => onEdit(id) },
            {
              text: 'Delete',
              icon: Trash2,
              reason: usage > 0 ? `used by ${counted(usage, 'policy set')}` : undefined,
              confirm: {
                title: `Delete OPA ${version}?`,
                consequence: 'Runs whose policies are being evaluated with it are not affected.',
                action: 'Delete version',
                done: `OPA ${version} deleted`,
                onConfirm: async () => deleteOpaVersion(id),
              },
            },
          ]}
        />
      ),
    },
  ]
}

function Marks({ version }: { version: OpaVersion['attributes'] }) {
  const { latest, enabled, beta, deprecated, 'deprecated-reason': reason } = version
  return (
    <>
      {latest && <Badge tone="accent" text="latest" title="Used by policy sets that name no version" />}
      {!enabled && <Badge tone="warn" text="disabled" />}
      {beta && <Badge text="beta" />}
      {deprecated && <Badge tone="warn" text="deprecated" {...(reason !== null && { title: reason })} />}
    </>
  )
}

function Users({ version: { usage, 'used-by': users } }: { version: OpaVersion['attributes'] }) {
  if (usage === 0) return <span className="text-dim">none</span>
  const more = usage - users.length
  return (
    <>
      {users.map(({ organization, 'policy-set': set }) => (
        <span key={`${organization} ${set}`} className="block wrap-anywhere">
          {set} <span className="text-dim">of {organization}</span>
        </span>
      ))}
      {more > 0 && <span className="text-dim">and {more.toLocaleString('en')} more</span>}
    </>
  )
}
