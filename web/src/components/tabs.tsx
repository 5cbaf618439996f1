import { type Target, TargetLink } from './target.tsx'

export type Tab = { text: string; link: Target; isExact?: boolean; count?: number | undefined }

/** Tabs of a page, each with its own URL. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav aria-label={label} className="overflow-x-auto border-b border-line" tabIndex={-1}>
      <ul className="flex gap-1">
        {tabs.map(({ text, link, isExact = false, count }) => (
          <li key={text}>
            <TargetLink
              leadsTo={link}
              exact={isExact}
              className="flex items-center gap-1.5 border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-dim no-underline hover:text-ink data-[status=active]:border-accent data-[status=active]:text-ink"
            >
              {text}
              {count !== undefined && <span className="numeric rounded bg-hover px-1.5 text-xs">{count}</span>}
            </TargetLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}
