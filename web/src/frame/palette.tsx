import { Dialog } from '@base-ui/react/dialog'
import type { PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { Boxes, Building2, ListChecks, type LucideIcon, Play, Plus } from 'lucide-react'
import { useState } from 'react'
import { get, queryString } from '../api/client.ts'
import { isOfScope } from '../api/queries.ts'
import { useSettled } from '../components/filters.tsx'
import { type Target, useGo } from '../components/target.tsx'
import { useOrganizations } from '../features/organizations/organizations.ts'
import { chooseGuide } from '../features/overview/getting-started.tsx'
import { runTitle } from '../features/runs/run-text.ts'
import { OWN_PAGES, organizationPages } from './navigation.ts'

/** Goes to any workspace, run, page or action by a few letters. Load this file lazily. */
export default function Palette({
  organization,
  isOpen,
  onClose,
}: {
  organization: string | undefined
  isOpen: boolean
  onClose: () => void
}) {
  const goTo = useGo()
  const [text, setText] = useState('')
  const found = useFound(organization, useSettled(text.trim()), isOpen)
  const organizations = useOrganizations()

  function go(link: Target) {
    onClose()
    setText('')
    goTo(link)
  }

  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Popup
          aria-label="Go to"
          className="fixed top-[10vh] left-1/2 z-40 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-xl"
        >
          <Command label="Go to" loop>
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="A workspace, a run's id, a page…"
              className="h-11 w-full border-b border-line bg-transparent px-4 text-base outline-none"
            />
            <Command.List className="max-h-[60vh] overflow-y-auto p-1">
              <Command.Empty className="px-3 py-6 text-center text-dim">
                {found.isFetching ? 'Searching…' : 'Nothing has this in its name.'}
              </Command.Empty>
              {organization !== undefined && found.data && (
                <Group heading="Workspaces">
                  {found.data.workspaces.map((name) => (
                    <Item
                      key={name}
                      id={`workspace ${name}`}
                      found={found.data.text}
                      icon={Boxes}
                      text={name}
                      onSelect={() =>
                        go({
                          to: '/app/$organization/workspaces/$workspace',
                          params: { organization, workspace: name },
                        })
                      }
                    />
                  ))}
                </Group>
              )}
              {organization !== undefined && found.data && found.data.runs.length > 0 && (
                <Group heading="Runs">
                  {found.data.runs.map(({ id, message }) => (
                    <Item
                      key={id}
                      id={id}
                      found={found.data.text}
                      icon={Play}
                      text={id}
                      about={message}
                      onSelect={() => go({ to: '/app/$organization/runs/$run', params: { organization, run: id } })}
                    />
                  ))}
                </Group>
              )}
              <Group heading="Pages">
                {[...(organization === undefined ? [] : organizationPages(organization)), ...OWN_PAGES].map((page) => (
                  <Item
                    key={page.text}
                    id={`${page.text} ${page.words ?? ''}`}
                    icon={page.icon}
                    text={page.text}
                    onSelect={() => go(page.link)}
                  />
                ))}
                {organization !== undefined && (
                  <Item
                    id="Show Get started first steps guide help"
                    icon={ListChecks}
                    text="Show “Get started”"
                    onSelect={() => {
                      chooseGuide(organization, 'shown')
                      go({ to: '/app/$organization', params: { organization } })
                    }}
                  />
                )}
                {organization !== undefined && (
                  <Item
                    id="New workspace create"
                    icon={Plus}
                    text="New workspace"
                    onSelect={() =>
                      go({ to: '/app/$organization/workspaces', params: { organization }, search: { new: true } })
                    }
                  />
                )}
              </Group>
              <Group heading="Organizations">
                {organizations.data?.data.map(({ attributes: { name } }) => (
                  <Item
                    key={name}
                    id={`organization ${name}`}
                    icon={Building2}
                    text={name}
                    onSelect={() => go({ to: '/app/$organization', params: { organization: name } })}
                  />
                ))}
              </Group>
            </Command.List>
          </Command>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Group({ heading, children }: { heading: string; children: React.ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-dim"
    >
      {children}
    </Command.Group>
  )
}

/** The palette filters by `id`, and by the text the server `found`, such as a run's message. */
function Item({
  id,
  found,
  icon: Icon,
  text,
  about,
  onSelect,
}: {
  id: string
  found?: string
  icon: LucideIcon
  text: string
  about?: string
  onSelect: () => void
}) {
  return (
    <Command.Item
      value={id}
      {...(found && { keywords: [found] })}
      onSelect={onSelect}
      className="flex cursor-pointer items-center gap-2 rounded px-2 py-2 aria-selected:bg-hover"
    >
      <Icon size={16} aria-hidden="true" className="shrink-0 text-dim" />
      <span className="whitespace-nowrap">{text}</span>
      {about !== undefined && <span className="min-w-0 truncate text-dim">{about}</span>}
    </Command.Item>
  )
}

function useFound(organization: string | undefined, text: string, isOpen: boolean) {
  return useQuery({
    queryKey: ['palette', organization, text],
    enabled: isOpen && organization !== undefined,
    queryFn: async ({ signal }) => {
      const [workspaces, runs] = await Promise.all([
        get<PageOnWire<typeof workspaceSchema>>(
          `/organizations/${organization}/workspaces${queryString({ 'search[name]': text, 'page[size]': 8 })}`,
          signal,
        ),
        text === ''
          ? undefined
          : get<PageOnWire<typeof runSchema>>(
              `/organizations/${organization}/runs${queryString({ 'search[basic]': text, 'page[size]': 5 })}`,
              signal,
            ),
      ])
      return {
        text,
        workspaces: workspaces.data.map(({ attributes }) => attributes.name),
        runs:
          runs?.data.map(({ id, attributes }) => ({ id, message: runTitle({ id, message: attributes.message }) })) ??
          [],
      }
    },
    placeholderData: (before, query) => (isOfScope(query, organization ?? '') ? before : undefined),
  })
}
