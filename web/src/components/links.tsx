import { Link, type LinkProps } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'

const WORKSPACE = '/app/$organization/workspaces/$workspace'

type Place = { organization: string; workspace: string; search?: Record<string, string | boolean> | undefined }
type WorkspaceLinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & Place & { tab?: string }
type RunLinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & Place & { run: string }

/** A link to a tab of a workspace, by default to its overview. */
export function WorkspaceLink({ organization, workspace, tab, search, ...props }: WorkspaceLinkProps) {
  const to = tab === undefined ? WORKSPACE : `${WORKSPACE}/${tab}`
  return <Link {...({ to, params: { organization, workspace }, search } as LinkProps)} {...props} />
}

/** A link to the page of a run. */
export function RunLink({ organization, workspace, run, search, ...props }: RunLinkProps) {
  const params = { organization, workspace, run }
  return <Link {...({ to: `${WORKSPACE}/runs/$run`, params, search } as LinkProps)} {...props} />
}
