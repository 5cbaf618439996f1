import { Dialog } from '@base-ui/react/dialog'
import type { PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { Boxes, Building2, ListChecks, type LucideIcon, Play, Plus } from 'lucide-react'
import { useState } from 'react'
import { getData, queryString } from '../api/client.ts'
import { isOfScope } from '../api/queries.ts'
import { useSettled } from '../components/filters.tsx'
import { type Target, useGo } from '../components/target.tsx'
import { useOrganizations } from '../features/organizations/organizations.ts'
import { setGuideChoice } from '../features/overview/getting-started.tsx'
import { runTitle } from '../features/runs/run-text.ts'
import { USER_PAGES, organizationPages } from './navigation.ts'

type PaletteProps = { organization: string | undefined; isOpen: boolean; onClose: () => void }

/** Command palette: goes to any workspace, run, page or action. Load this file lazily. */
export default function Palette({ organization, isOpen, onClose }: PaletteProps) {
  const goTo = useGo()
  const [text, setText] = useState('')
  const matches = useMatches(organization, useSettled(text.trim()), isOpen)
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
              placeholder="Search workspaces, runs and pages…"
              className="h-11 w-full border-b border-line bg-transparent px-4 text-base outline-none"
            />
            <Command.List className="max-h-[60vh] overflow-y-auto p-1">
              <Command.Empty className="px-3 py-6 text-center text-dim">
                {matches.isFetching ? 'Searching…' : 'No matches.'}
              </Command.Empty>
              {organization !== undefined && matches.data && (
                <>
                  <Group heading="Workspaces">
                    {matches.data.workspaces.map(({ attributes: { name } }) => {
                      const link = {
                        to: '/app/$organization/workspaces/$workspace',
                        params: { organization, workspace: name },
                      }
                      const keywords = [matches.data.text]
                      return (
                        <Item
                          key={name}
                          icon={Boxes}
                          text={name}
                          {...{ keywords, link, go }}
                          id={`workspace ${name}`}
                        />
                      )
                    })}
                  </Group>
                  {matches.data.runs.length > 0 && (
                    <Group heading="Runs">
                      {matches.data.runs.map(({ id, attributes: { message } }) => {
                        const link = { to: '/app/$organization/runs/$run', params: { organization, run: id } }
                        const keywords = [matches.data.text]
                        const about = runTitle({ id, message })
                        return <Item key={id} icon={Play} text={id} {...{ id, keywords, about, link, go }} />
                      })}
                    </Group>
                  )}
                </>
              )}
              <Group heading="Pages">
                {[...organizationPages(organization), ...USER_PAGES].map(({ text, keywords = '', icon, link }) => (
                  <Item key={text} id={`${text} ${keywords}`} {...{ icon, text, link, go }} />
                ))}
                {organization !== undefined && (
                  <>
                    <Item
                      id="Show Get started first steps guide help"
                      icon={ListChecks}
                      text="Show “Get started”"
                      link={{ to: '/app/$organization', params: { organization } }}
                      go={(link) => {
                        setGuideChoice(organization, 'shown')
                        go(link)
                      }}
                    />
                    <Item
                      id="New workspace create"
                      icon={Plus}
                      text="New workspace"
                      link={{ to: '/app/$organization/workspaces', params: { organization }, search: { new: true } }}
                      go={go}
                    />
                  </>
                )}
              </Group>
              <Group heading="Organizations">
                {organizations.data?.data.map(({ attributes: { name } }) => {
                  const link = { to: '/app/$organization', params: { organization: name } }
                  return <Item key={name} id={`organization ${name}`} icon={Building2} text={name} {...{ link, go }} />
                })}
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

type ItemProps = {
  id: string
  /** The palette filters by `id` and by these, such as the search text for which the server returned the item. */
  keywords?: string[]
  icon: LucideIcon
  text: string
  about?: string
  link: Target
  go: (link: Target) => void
}

function Item({ id, keywords, icon: Icon, text, about, link, go }: ItemProps) {
  return (
    <Command.Item
      value={id}
      {...(keywords && { keywords })}
      onSelect={() => go(link)}
      className="flex cursor-pointer items-center gap-2 rounded px-2 py-2 aria-selected:bg-hover"
    >
      <Icon size={16} className="shrink-0 text-dim" />
      <span className="whitespace-nowrap">{text}</span>
      {about !== undefined && <span className="min-w-0 truncate text-dim">{about}</span>}
    </Command.Item>
  )
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
