import { Link, type LinkProps, useNavigate, useParams, useRouter } from '@tanstack/react-router'
import type { ComponentProps } from 'react'

type Search = Record<string, string | boolean>
/** A page of an organization that lists resources, by its path. */
export type ListName =
  | 'workspaces'
  | 'runs'
  | 'projects'
  | 'variable-sets'
  | 'registry'
  | 'policies'
  | 'run-tasks'
  | 'agents'
  | 'connections'
  | 'members'
  | 'teams'
type ListLinkProps = ComponentProps<'a'> & {
  list: ListName | 'settings/gpg-keys' | 'settings/quotas' | 'connections/new'
  search?: Search
}

/** A link to a list or a page of the current organization. */
export function ListLink({ list, search, ...props }: ListLinkProps) {
  const { organization = '' } = useParams({ strict: false })
  return <Link {...({ to: `/app/$organization/${list}`, params: { organization }, search } as LinkProps)} {...props} />
}

type WorkspaceLinkProps = ComponentProps<'a'> & { workspace: string; tab?: string; search?: Search }

/** A link to a tab of a workspace of the current organization, by default to its overview and with its name. */
export function WorkspaceLink({ workspace, tab, search, children = workspace, ...props }: WorkspaceLinkProps) {
  const { organization = '' } = useParams({ strict: false })
  const to = `/app/$organization/workspaces/$workspace${tab === undefined ? '' : `/${tab}`}`
  return <Link {...({ to, params: { organization, workspace }, search, children } as LinkProps)} {...props} />
}

/** A link to a project of the current organization. */
export function ProjectLink({ id, name, tab }: { id: string; name: string; tab?: string }) {
  const { organization = '' } = useParams({ strict: false })
  const to = '/app/$organization/projects/$project'
  return (
    <Link
      {...({ to, params: { organization, project: id }, search: tab === undefined ? {} : { tab } } as LinkProps)}
      className="hover:underline"
    >
      {name}
    </Link>
  )
}

/** The target of a link as data. Looser than the router's type, which depends on every route. */
export type Target = { to: string; params?: Record<string, string>; search?: Record<string, string | number | boolean> }

type TargetLinkProps = ComponentProps<'a'> & { leadsTo: Target; exact?: boolean }

export function TargetLink({ leadsTo, exact = false, ...props }: TargetLinkProps) {
  return <Link {...(leadsTo as LinkProps)} activeOptions={{ exact, includeSearch: false }} {...props} />
}

export function useGo() {
  const navigate = useNavigate()
  return (target: Target) => void navigate(target as Parameters<typeof navigate>[0])
}

/** Closes a dialog that the URL opens, right before a navigation from it: Back then does not reopen it. */
export function useLeaveDialog(onClose: () => void) {
  const { history } = useRouter()
  return () => {
    onClose()
    // Otherwise the history would merge the two navigations, and lose this one.
    history.flush()
  }
}

/** Rejects other schemes, such as `javascript:`, in untrusted URLs. */
export function isWebAddress(url: string | null | undefined) {
  return ['http:', 'https:'].includes(URL.parse(url ?? '')?.protocol ?? '')
}

/** A link to an untrusted URL in a new tab; plain text unless it is a web address. */
export function ExternalLink({ href, className = '', children }: ComponentProps<'a'>) {
  if (!isWebAddress(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className={`text-accent underline ${className}`}>
      {children}
    </a>
  )
}
