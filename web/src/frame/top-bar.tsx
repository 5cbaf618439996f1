import { useMatches } from '@tanstack/react-router'
import { LogOut, MenuIcon, Monitor, Moon, Search, Sun, WifiOff } from 'lucide-react'
import { Fragment } from 'react'
import { ownPath } from '../api/client.ts'
import { useConnection } from '../api/live.ts'
import { IconButton } from '../components/button.tsx'
import { type Target, TargetLink, useGo } from '../components/links.tsx'
import { Menu } from '../components/menu.tsx'
import { PAGE_TITLE, useShownTitle } from '../components/page.tsx'
import { type AccountAttributes, useSignOut } from '../features/session/session.ts'
import { USER_PAGES } from './navigation.ts'
import { type Theme, THEMES, useTheme } from './theme.ts'

type TopBarProps = { account: AccountAttributes; isLive: boolean; onMenu: () => void; onSearch: () => void }

export function TopBar({ account, isLive, onMenu, onSearch }: TopBarProps) {
  return (
    <header className="sticky top-0 z-30 flex h-12 items-center gap-2 border-b border-line bg-paper px-3 md:px-5">
      <span className="md:hidden">
        <IconButton label="Navigation" icon={MenuIcon} onClick={onMenu} />
      </span>
      <div className="min-w-0 flex-1">
        <Breadcrumb isAdmin={account['is-site-admin']} />
      </div>
      {isLive && <ConnectionStatus />}
      <button
        type="button"
        onClick={onSearch}
        className="inline-flex h-8 cursor-pointer items-center gap-2 rounded-md border border-line px-2 text-dim hover:bg-hover"
      >
        <Search size={15} />
        <span className="max-sm:sr-only">Go to…</span>
        <kbd className="rounded border border-line px-1 text-xs max-sm:hidden">Ctrl K</kbd>
      </button>
      <ThemeMenu />
      <UserMenu account={account} />
    </header>
  )
}

function ConnectionStatus() {
  const isLost = useConnection() === 'lost'
  return (
    <span role="status" className="inline-flex items-center gap-1.5 text-warn">
      {isLost && (
        <>
          <WifiOff size={15} />
          <span className="max-sm:sr-only">Connection lost, retrying…</span>
        </>
      )}
    </span>
  )
}

const THEME_TEXTS = {
  system: { text: 'System', icon: Monitor },
  light: { text: 'Light', icon: Sun },
  dark: { text: 'Dark', icon: Moon },
} as const satisfies Record<Theme, unknown>

export function ThemeMenu() {
  const { theme, setTheme } = useTheme()
  return (
    <Menu
      trigger={<IconButton label="Theme" icon={THEME_TEXTS[theme].icon} />}
      items={THEMES.map((choice) => ({
        ...THEME_TEXTS[choice],
        isChecked: choice === theme,
        onSelect: () => setTheme(choice),
      }))}
    />
  )
}

function UserMenu({ account }: { account: AccountAttributes }) {
  const signOut = useSignOut()
  const go = useGo()
  return (
    <Menu
      trigger={
        <button type="button" className="cursor-pointer rounded-full" aria-label={`Account of ${account.username}`}>
          <img src={ownPath(account['avatar-url'])} alt="" className="size-7 rounded-full" />
        </button>
      }
      header={
        <>
          Signed in as <span className="font-medium text-ink">{account.username}</span>
        </>
      }
      items={[
        ...USER_PAGES.map(({ text, icon, link }) => ({ text, icon, onSelect: () => go(link) })),
        'separator',
        { text: 'Sign out', icon: LogOut, onSelect: () => signOut.mutate() },
      ]}
    />
  )
}

/** A breadcrumb. The last one is the page itself; its text may be `PAGE_TITLE`. */
export type Crumb = { text: string; link?: Target }

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The breadcrumbs below the organization; none by default. */
    crumbs?: (params: Record<string, string>) => readonly Crumb[]
  }
}

function Breadcrumb({ isAdmin }: { isAdmin: boolean }) {
  const match = useMatches().at(-1)
  const params = (match?.params ?? {}) as Record<string, string>
  // To others, the administration does not exist.
  const crumbs = (match?.staticData.crumbs?.(params) ?? []).filter(
    ({ link }) => isAdmin || !link?.to.startsWith('/app/admin/'),
  )
  const title = useShownTitle()
  const last = crumbs.length - 1
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="flex min-w-0 items-center gap-1.5 whitespace-nowrap">
        {crumbs.map(({ text, link }, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- a breadcrumb is identified by its depth
          <Fragment key={index}>
            {index > 0 && (
              <li aria-hidden="true" className="text-dim max-sm:hidden">
                /
              </li>
            )}
            <li className={`min-w-0 truncate ${index < last ? 'max-sm:hidden' : 'font-medium'}`}>
              {index < last && link ? (
                <TargetLink leadsTo={link} className="text-dim hover:text-ink hover:underline">
                  {text}
                </TargetLink>
              ) : (
                <span aria-current={index === last ? 'page' : undefined}>{text === PAGE_TITLE ? title : text}</span>
              )}
            </li>
          </Fragment>
        ))}
      </ol>
    </nav>
  )
}
