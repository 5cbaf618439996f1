import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { type ComponentProps, type ReactNode, useCallback, useEffect, useRef } from 'react'

export const statesRoute = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

export type StatesSearch = ReturnType<typeof statesRoute.useSearch>

/** The search parameters of the states tab, and a function that changes some of them without adding a history entry. */
export function useStatesSearch() {
  const navigate = statesRoute.useNavigate()
  const change = useCallback(
    (values: StatesSearch) =>
      void navigate({ search: (before) => ({ ...before, ...values }), replace: true, resetScroll: false }),
    [navigate],
  )
  return [statesRoute.useSearch(), change] as const
}

type AnchorProps = Pick<ComponentProps<'a'>, 'className' | 'children' | 'aria-current'>
type StatesLinkProps = AnchorProps & {
  search?: StatesSearch
  resetScroll?: boolean
  activeOptions?: { exact: boolean }
}

/** Link within the states tab; keeps the page of the timeline. */
export function StatesLink({ search, ...props }: StatesLinkProps) {
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/states"
      params={statesRoute.useParams()}
      search={({ page }: StatesSearch) => ({ page, ...search })}
      {...props}
    />
  )
}

/** The heading of the panel next to the timeline. Takes the focus if the element that had it is no longer visible. */
export function PanelHeader({ title, meta, actions }: { title: ReactNode; meta?: ReactNode; actions?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const focused = document.activeElement
    if (focused === document.body || !focused?.checkVisibility()) heading.current?.focus()
  }, [])
  return (
    <header className="flex flex-wrap items-start gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-56">
        <StatesLink className="inline-flex items-center gap-1 text-accent hover:underline">
          <ArrowLeft size={15} />
          All states
        </StatesLink>
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <h2 ref={heading} tabIndex={-1} className="numeric text-lg font-semibold outline-none">
            {title}
          </h2>
          {meta}
        </div>
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
