import { Link, type LinkProps, useParams } from '@tanstack/react-router'
import type { ComponentProps } from 'react'

type WorkspaceLinkProps = ComponentProps<'a'> & {
  workspace: string
  tab?: string
  search?: Record<string, string | boolean>
}

/** A link to a tab of a workspace of the current organization, by default to its overview and with its name. */
export function WorkspaceLink({ workspace, tab, search, children = workspace, ...props }: WorkspaceLinkProps) {
  const { organization = '' } = useParams({ strict: false })
  const to = `/app/$organization/workspaces/$workspace${tab === undefined ? '' : `/${tab}`}`
  return <Link {...({ to, params: { organization, workspace }, search, children } as LinkProps)} {...props} />
}
