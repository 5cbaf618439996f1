import { Dialog } from '@base-ui/react/dialog'
import type { PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { Boxes, Building2, type LucideIcon, Play } from 'lucide-react'
import { useState } from 'react'
import { getData, queryString } from '../api/client.ts'
import { isOfScope } from '../api/queries.ts'
import { Modal } from '../components/dialog-popup.tsx'
import { useSettled } from '../components/filters.tsx'
import { type Target, useGo } from '../components/links.tsx'
import { useOrganizationPermissions, useOrganizations } from '../features/organizations/organizations.ts'
import { overviewActions } from '../features/overview/overview-actions.ts'
import { runTitle } from '../features/runs/run-text.ts'
import { useSession } from '../features/session/session.ts'
import { ADMIN_PAGES, USER_PAGES, organizationPages } from './navigation.ts'

type PaletteProps = { organization: string | undefined; isOpen: boolean; onClose: () => void }

/** The palette filters by `id` and `keywords`, such as the search text for which the server returned the item. */
type Item = {
  id: string
  keywords?: string[]
  icon: LucideIcon
  text: string
  about?: string
  link: Target
  onSelect?: () => void
}

/** Command palette: goes to any workspace, run, page or action. Load this file lazily. */
export default function Palette({ organization, isOpen, onClose }: PaletteProps) {
  const goTo = useGo()
  const [text, setText] = useState('')
  const matches = useMatches(organization, useSettled(text.trim()), isOpen)
  const organizations = useOrganizations()
  const permissions = useOrganizationPermissions(organization)
  const { data: account } = useSession()

  function select({ link, onSelect }: Item) {
    onSelect?.()
    onClose()
    setText('')
    goTo(link)
  }

  const groups: Record<string, readonly Item[]> = {
    ...(organization !== undefined && matches.data && matchGroups(organization, matches.data)),
    Pages: [
      ...[
        ...organizationPages(organization, permissions),
        ...USER_PAGES,
        ...(account?.attributes['is-site-admin'] ? ADMIN_PAGES : []),
      ].map(({ keywords = '', ...page }) => ({
        id: `${page.text} ${keywords}`,
        ...page,
      })),
      ...(organization === undefined ? [] : overviewActions(organization, permissions)),
    ],
    Organizations: (organizations.data?.data ?? []).map(({ attributes: { name } }) => ({
      id: `organization ${name}`,
      icon: Building2,
      text: name,
      link: { to: '/app/$organization', params: { organization: name } },
    })),
  }
  return (
    <Modal isOpen={isOpen} onClose={onClose}>
      <Dialog.Popup
        aria-label="Go to"
        className="fixed top-[10vh] left-1/2 z-40 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-xl"
      >
        <Command label="Go to" loop>
          <Command.Input
            value={text}
            onValueChange={setText}
            placeholder="Search workspaces, runs and pages…"
            className="h-11 w-full border-b border-line bg-transparent px-4 text-base outline-none"
          />
          <Command.List className="max-h-[60vh] overflow-y-auto p-1">
            <Command.Empty className="px-3 py-6 text-center text-dim">
              {matches.isFetching ? 'Searching…' : 'No matches.'}
            </Command.Empty>
            {Object.entries(groups).map(([heading, items]) => (
              <Command.Group
                key={heading}
                heading={heading}
                className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-dim"
              >
                {items.map((item) => (
                  <Command.Item
                    key={item.id}
                    value={item.id}
                    {...(item.keywords && { keywords: item.keywords })}
                    onSelect={() => select(item)}
                    className="flex cursor-pointer items-center gap-2 rounded px-2 py-2 aria-selected:bg-hover"
                  >
                    <item.icon size={16} className="shrink-0 text-dim" />
                    <span className="whitespace-nowrap">{item.text}</span>
                    {item.about !== undefined && <span className="min-w-0 truncate text-dim">{item.about}</span>}
                  </Command.Item>
                ))}
              </Command.Group>
            ))}
          </Command.List>
        </Command>
      </Dialog.Popup>
    </Modal>
  )
}

type Matches = NonNullable<ReturnType<typeof useMatches>['data']>

function matchGroups(organization: string, { text, workspaces, runs }: Matches): Record<string, readonly Item[]> {
  const keywords = [text]
  const workspaceItems = workspaces.map(({ attributes: { name } }) => {
    const link = { to: '/app/$organization/workspaces/$workspace', params: { organization, workspace: name } }
    return { id: `workspace ${name}`, keywords, icon: Boxes, text: name, link }
  })
  const runItems = runs.map(({ id, attributes: { message } }) => {
    const link = { to: '/app/$organization/runs/$run', params: { organization, run: id } }
    return { id, keywords, icon: Play, text: id, about: runTitle({ id, message }), link }
  })
  return { Workspaces: workspaceItems, ...(runItems.length > 0 && { Runs: runItems }) }
}

function useMatches(organization: string | undefined, text: string, isOpen: boolean) {
  return useQuery({
    queryKey: ['palette', organization, text],
    enabled: isOpen && organization !== undefined,
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}`
      const byName = queryString({ 'search[name]': text, 'page[size]': 8 })
      const byText = queryString({ 'search[basic]': text, 'page[size]': 5 })
      const [workspaces, runs] = await Promise.all([
        getData<PageOnWire<typeof workspaceSchema>>(`${path}/workspaces${byName}`, signal),
        text === '' ? [] : getData<PageOnWire<typeof runSchema>>(`${path}/runs${byText}`, signal),
      ])
      return { text, workspaces, runs }
    },
    placeholderData: (before, query) => (isOfScope(query, organization ?? '') ? before : undefined),
  })
}
