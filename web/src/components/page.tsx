import { type ReactNode, createContext, useContext, useEffect, useSyncExternalStore } from 'react'

/** The end of browser tab titles in a part of the application: `main` in `Teams · main`. */
export const TitleScope = createContext<string | undefined>(undefined)

type PageProps = {
  title: ReactNode
  /** The title of the browser tab, such as `kafka-prod · variables`; the title and the scope by default, and null if the content sets it. */
  documentTitle?: string | undefined | null
  badge?: ReactNode
  actions?: ReactNode
  about?: ReactNode
  children: ReactNode
}

export function Page({ title, documentTitle, badge, actions, about, children }: PageProps) {
  const scope = useContext(TitleScope)
  const ownTitle = typeof title === 'string' ? [title, scope].filter(Boolean).join(' · ') : undefined
  usePageTitle(documentTitle === undefined ? ownTitle : (documentTitle ?? undefined))
  useEffect(() => {
    setShownTitle(typeof title === 'string' ? title : undefined)
    return () => setShownTitle(undefined)
  }, [title])
  return (
    <>
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-72">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 tabIndex={-1} className="min-w-0 text-xl font-semibold tracking-tight">
              {title}
            </h1>
            {badge}
          </div>
          {about !== undefined && <div className="mt-1 max-w-3xl text-dim">{about}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-start gap-2">{actions}</div>}
      </div>
      <div className="mt-5">{children}</div>
    </>
  )
}

export function usePageTitle(title: string | undefined) {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · Groundstate`
  }, [title])
}

/** As the text of a breadcrumb: the title of the open page. */
export const PAGE_TITLE = ''

let shownTitle: string | undefined
const titleListeners = new Set<() => void>()

function setShownTitle(title: string | undefined) {
  shownTitle = title
  for (const draw of titleListeners) draw()
}

/** The title of the open page, for its breadcrumb; undefined while the page loads. */
export function useShownTitle() {
  return useSyncExternalStore(
    (draw) => {
      titleListeners.add(draw)
      return () => titleListeners.delete(draw)
    },
    () => shownTitle,
  )
}

/** Moves the focus to the heading of the page, after the focused element was removed. */
export function focusHeading() {
  const heading = document.querySelector<HTMLElement>('main h1') ?? document.querySelector<HTMLElement>('main')
  heading?.focus({ preventScroll: true })
}

export function Mark() {
  return (
    <svg viewBox="0 0 16 16" className="size-5 text-accent" aria-hidden="true">
      <path d="M1 12h14M3 9h10M5 6h6" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  )
}
