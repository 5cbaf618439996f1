import { Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Target, TargetLink } from './links.tsx'

export type Section = {
  text: string
  link: Target
  /** The section's address is a prefix of others. */
  isExact?: boolean
}

const ITEM =
  'block rounded-md px-2.5 py-1.5 whitespace-nowrap text-dim no-underline hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent'

/** `children` replace the page of the address. */
type SectionLayoutProps = { label: string; sections: readonly Section[]; children?: ReactNode }

/** Pages of settings next to their index; on phones the index is a strip above them. Each page has its own `Page`. */
export function SectionLayout({ label, sections, children }: SectionLayoutProps) {
  return (
    <div className="gap-8 md:grid md:grid-cols-[11rem_minmax(0,1fr)]">
      <nav aria-label={label} tabIndex={-1} className="max-md:mb-4 max-md:overflow-x-auto">
        <p className="mb-2 px-2.5 font-semibold max-md:hidden">{label}</p>
        <ul className="flex gap-0.5 md:flex-col">
          {sections.map(({ text, link, isExact = false }) => (
            <li key={text}>
              <TargetLink leadsTo={link} exact={isExact} className={ITEM}>
                {text}
              </TargetLink>
            </li>
          ))}
        </ul>
      </nav>
      <div className="min-w-0 max-w-4xl">{children || <Outlet />}</div>
    </div>
  )
}
