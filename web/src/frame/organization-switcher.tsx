import { Building2, ChevronsUpDown } from 'lucide-react'
import { Menu } from '../components/menu.tsx'
import { useOrganizations } from '../features/organizations/organizations.ts'

/** Leads to the other organizations of the person. */
export function OrganizationSwitcher({ current }: { current: string | undefined }) {
  const { data } = useOrganizations()
  const names = data?.data.map(({ attributes }) => attributes.name) ?? []
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex w-full cursor-pointer items-center gap-2 rounded-md border border-line bg-paper px-2.5 py-1.5 text-left hover:bg-hover"
        >
          <Building2 size={16} aria-hidden="true" className="shrink-0 text-dim" />
          <span className="min-w-0 flex-1 truncate font-medium">
            <span className="sr-only">Organization: </span>
            {current ?? 'Choose an organization'}
          </span>
          <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-dim" />
        </button>
      }
      items={[
        ...names.map((name) => ({ text: name, link: { to: '/app/$organization', params: { organization: name } } })),
        ...(names.length > 0 ? (['separator'] as const) : []),
        { text: 'All organizations', icon: Building2, link: { to: '/app', search: { all: true } } },
      ]}
    />
  )
}
