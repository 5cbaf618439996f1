import { Dialog } from '@base-ui/react/dialog'
import type { PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Boxes, Play } from 'lucide-react'
import { useState } from 'react'
import { flushSync } from 'react-dom'
import { get, queryString } from '../api/client.ts'
import { keepWithin } from '../api/queries.ts'
import { Modal } from '../components/dialog-popup.tsx'
import { useSettled } from '../components/filters.tsx'
import { useGo } from '../components/links.tsx'
import { useOrganizationPermissions, useOrganizations } from '../features/organizations/organizations.ts'
import { offeredRunActions, openRunAction } from '../features/runs/approval/run-shortcuts.ts'
import { runTitle } from '../features/runs/run-text.ts'
import { useSession, useSignOut } from '../features/session/session.ts'
import { useUnlock, useWorkspace } from '../features/workspaces/workspace.ts'
import {
  type Item,
  type ItemGroup,
  generalGroups,
  organizationGroups,
  runGroup,
  workspaceGroup,
  workspacePages,
} from './palette-items.ts'
import { useTheme } from './theme.ts'

type PaletteProps = {
  organization: string | undefined
  isOpen: boolean
  onClose: () => void
  onShortcuts: () => void
}

/** Command palette: goes to any page, tab, workspace, run or document, and starts actions. Load this file lazily. */
export default function Palette({ organization, isOpen, onClose, onShortcuts }: PaletteProps) {
  const goTo = useGo()
  const [text, setText] = useState('')
  const matches = useMatches(organization, useSettled(text.trim()), isOpen)
  const permissions = useOrganizationPermissions(organization)
  const { workspace: name = '' } = useParams({ strict: false })
  const document = useWorkspace(organization ?? '', name).data
  const organizations = useOrganizations().data?.data.map(({ attributes }) => attributes.name) ?? []
  const account = useSession().data
  const { unlock } = useUnlock(organization ?? '')
  const signOut = useSignOut()
  const { setTheme } = useTheme()

  function select({ link, onSelect }: Item) {
    // Synchronously, so that the page is no longer inert when it is acted on.
    flushSync(onClose)
    setText('')
    onSelect?.()
    if (link) goTo(link)
  }

  const groups: readonly ItemGroup[] = [
    runGroup(isOpen ? offeredRunActions() : [], openRunAction),
    ...(organization !== undefined && document
      ? [workspaceGroup({ organization, document, userId: account?.id, unlock: () => unlock(document.data) })]
      : []),
    ...(organization !== undefined && matches.data ? matchGroups(organization, name, matches.data) : []),
    ...(organization === undefined ? [] : organizationGroups(organization, permissions)),
    ...generalGroups({
      isSiteAdmin: account?.attributes['is-site-admin'] ?? false,
      mayCreateOrganizations: account?.attributes.permissions['can-create-organizations'] ?? false,
      organizations,
      setTheme,
      signOut: () => signOut.mutate(),
      showShortcuts: onShortcuts,
    }),
  ]
  const shown = groups.filter(({ items, isDeep = false }) => items.length > 0 && (!isDeep || text !== ''))
  return (
    <Modal isOpen={isOpen} onClose={onClose}>
      <Dialog.Popup
        aria-label="Go to"
        className="fixed top-[10vh] left-1/2 z-40 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-xl"
      >
        <Command label="Go to" loop filter={relevance}>
          <Command.Input
            value={text}
            onValueChange={setText}
            placeholder="Search workspaces, runs, pages and actions…"
            className="h-11 w-full border-b border-line bg-transparent px-4 text-base outline-none"
          />
          <Command.List className="max-h-[60vh] overflow-y-auto p-1">
            <Command.Empty className="px-3 py-6 text-center text-dim">
              {matches.isFetching
                ? 'Searching…'
                : 'No matches. A run is found by its whole ID or by a part of its message.'}
            </Command.Empty>
            {shown.map(({ heading, items }) => (
              <Command.Group
                key={heading}
                heading={heading}
                className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-dim"
              >
                {items.map((item) => (
                  <Command.Item
                    key={item.id}
                    value={`${item.id} ${heading}`}
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

/** How well an item matches a search: 0 unless it contains all words, most if its text begins with them. */
function relevance(value: string, search: string, keywords: readonly string[] = []) {
  const text = `${value} ${keywords.join(' ')}`.toLowerCase()
  const words = search.toLowerCase().trim().split(/\s+/)
  if (!words.every((word) => text.includes(word))) return 0
  if (text.startsWith(words.join(' '))) return 1
  return words.every((word) => ` ${text}`.includes(` ${word}`)) ? 0.8 : 0.5
}

type Matches = NonNullable<ReturnType<typeof useMatches>['data']>

function matchGroups(
  organization: string,
  openWorkspace: string,
  { text, workspaces, runs }: Matches,
): readonly ItemGroup[] {
  const keywords = [text]
  // "kafka-prod variables": the tabs and settings of the workspaces with the first word in their names.
  const named = text.includes(' ') ? workspaces.items.map(({ attributes }) => attributes) : []
  const pageItems = named
    .filter(({ name }) => name !== openWorkspace)
    .flatMap((own) => workspacePages(organization, own).map((item) => ({ ...item, about: own.name })))
  const workspaceItems = workspaces.items.map(({ attributes: { name } }) => {
    const link = { to: '/app/$organization/workspaces/$workspace', params: { organization, workspace: name } }
    return { id: name, ...(text.includes(' ') ? {} : { keywords }), icon: Boxes, text: name, link }
  })
  const runItems = runs.items.map(({ id, attributes: { message } }) => {
    const link = { to: '/app/$organization/runs/$run', params: { organization, run: id } }
    return { id, keywords, icon: Play, text: id, about: runTitle({ id, message }), link }
  })
  return [
    { heading: `Workspaces${moreText(workspaces)}`, items: workspaceItems },
    { heading: 'Pages of workspaces', items: pageItems },
    { heading: `Runs${moreText(runs)}`, items: runItems },
  ]
}

/** How many matches there are if not all are listed. */
function moreText({ items, total }: { items: readonly unknown[]; total: number }) {
  return total > items.length ? `: ${items.length} of ${total.toLocaleString('en')}, type more to narrow them` : ''
}

/** A run ID without its prefix; a word of this length hardly has a digit. */
const RUN_ID_END = /^(?=.*\d)[A-Za-z0-9]{16}$/

function useMatches(organization: string | undefined, text: string, isOpen: boolean) {
  return useQuery({
    queryKey: ['palette', organization, text],
    enabled: isOpen && organization !== undefined,
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}`
      // The name of a workspace has no spaces: further words select one of its pages.
      const byName = queryString({ 'search[name]': text.split(' ')[0] ?? '', 'page[size]': 8 })
      const byText = queryString({ 'search[basic]': text.replace(RUN_ID_END, 'run-$&'), 'page[size]': 5 })
      const [workspaces, runs] = await Promise.all([
        get<PageOnWire<typeof workspaceSchema>>(`${path}/workspaces${byName}`, signal),
        text === '' ? undefined : get<PageOnWire<typeof runSchema>>(`${path}/runs${byText}`, signal),
      ])
      return { text, workspaces: listed(workspaces), runs: runs ? listed(runs) : { items: [], total: 0 } }
    },
    placeholderData: keepWithin(organization ?? ''),
  })
}

function listed<Row>({ data, meta }: { data: Row[]; meta: { pagination: { 'total-count'?: number | null } } }) {
  return { items: data, total: meta.pagination['total-count'] ?? data.length }
}
