import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** `page` is the name of a document in lower case, such as `run-tasks`; `anchor` that of a heading. */
type DocsLinkProps = { page: string; anchor?: string; children: ReactNode }

/** A link to a page of the documentation. */
export function DocsLink({ page, anchor, children }: DocsLinkProps) {
  const target = { to: '/docs/$page', params: { page }, hash: anchor } as LinkProps
  return (
    <Link {...target} className="text-accent underline">
      {children}
    </Link>
  )
}
