import { Link, type LinkProps, useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { type Target, TargetLink } from './links.tsx'

export type TabLinkProps = { className: string; children: ReactNode }
type TabBarProps = {
  label: string
  /** `render` creates the link, whose `aria-current` marks the current tab. */
  tabs: readonly { text: string; count?: number | undefined; render: (props: TabLinkProps) => ReactNode }[]
}

/** A strip of tabs that scrolls to the current one. */
export function TabBar({ label, tabs }: TabBarProps) {
  const className =
    'flex items-center gap-1.5 border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-dim no-underline hover:text-ink aria-[current]:border-accent aria-[current]:text-ink'
  const nav = useRef<HTMLElement>(null)
  const address = useRouterState({ select: ({ location }) => location.href })
  const { length } = tabs
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>('[aria-current]')?.parentElement
    if (nav.current && current)
      nav.current.scrollLeft = current.offsetLeft - (nav.current.clientWidth - current.offsetWidth) / 2
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- the address and the tabs decide which one is current
  }, [address, length])
  return (
    <nav ref={nav} aria-label={label} className="relative overflow-x-auto border-b border-line" tabIndex={-1}>
      <ul className="flex gap-1">
        {tabs.map(({ text, count, render }) => {
          const badge = count !== undefined && (
            <span className="numeric rounded bg-hover px-1.5 text-xs">{count.toLocaleString('en')}</span>
          )
          return <li key={text}>{render({ className, children: [text, badge] })}</li>
        })}
      </ul>
    </nav>
  )
}

export type Tab = { text: string; link: Target; isExact?: boolean; count?: number | undefined }

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const renderLink =
    ({ link, isExact = false }: Tab) =>
    (props: TabLinkProps) => <TargetLink leadsTo={link} exact={isExact} {...props} />
  return <TabBar label={label} tabs={tabs.map((tab) => ({ ...tab, render: renderLink(tab) }))} />
}

type ParamTabsProps<Name extends string> = {
  label: string
  tabs: Readonly<Record<Name, string>>
  counts?: Partial<Record<Name, number>>
  open: Name
  page: Target
}

/** Tabs of one page, opened by its search parameter `tab`; the first one is open without it. */
export function ParamTabs<Name extends string>({ label, tabs, counts, open, page }: ParamTabsProps<Name>) {
  const names = Object.keys(tabs) as Name[]
  const tabOf = (name: Name) => {
    const target = { ...page, search: name === names[0] ? {} : { tab: name } } as LinkProps
    return {
      text: tabs[name],
      count: counts?.[name],
      render: (props: TabLinkProps) => (
        // Without `exact`, the router would mark the first tab for any search.
        <Link
          {...target}
          {...props}
          activeOptions={{ exact: true }}
          resetScroll={false}
          aria-current={name === open ? 'page' : undefined}
        />
      ),
    }
  }
  return <TabBar label={label} tabs={names.map(tabOf)} />
}

/** The tab that the search parameter names; the first one for others. */
export function openTab<Name extends string>(tabs: Readonly<Record<Name, string>>, tab: string | undefined): Name {
  const names = Object.keys(tabs) as Name[]
  return names.find((name) => name === tab) ?? (names[0] as Name)
}
