import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** The heading of what is open beside the timeline, with the way back to it. It gets the focus where what was pressed is gone. */
export function PartHeader({ title, beside, actions }: { title: ReactNode; beside?: ReactNode; actions?: ReactNode }) {
  const params = route.useParams()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const focused = document.activeElement
    // What was pressed may still be there, in the timeline beside.
    if (focused === document.body || !focused?.checkVisibility()) heading.current?.focus()
  }, [])
  return (
    <header className="flex flex-wrap items-start gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-56">
        <Link
          to="/app/$organization/workspaces/$workspace/states"
          params={params}
          search={({ page }) => ({ page })}
          className="inline-flex items-center gap-1 text-accent hover:underline"
        >
          <ArrowLeft size={15} aria-hidden="true" />
          All states
        </Link>
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <h2 ref={heading} tabIndex={-1} className="numeric text-lg font-semibold outline-none">
            {title}
          </h2>
          {beside}
        </div>
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
